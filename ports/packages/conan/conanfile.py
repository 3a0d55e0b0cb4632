# SPDX-License-Identifier: MIT
from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import get


class Heed(ConanFile):
    name = "heed"
    version = "@VERSION@"
    package_type = "library"
    license = "MIT"
    homepage = "@URL@"
    url = "@URL@"
    description = "Attention and transformer layers for edge devices, with the same bits on every processor"
    topics = ("attention", "transformer", "machine-learning", "embedded")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def requirements(self):
        self.requires("xsimd/[>=8.1 <15]", visible=False)  # headers, which the kernels are built with

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, url="@URL@/releases/heed-@VERSION@.tar.gz", sha256="@SHA256@", strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEED_XSIMD_INCLUDE_DIR"] = self.dependencies["xsimd"].cpp_info.includedirs[0]
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # heed's own CMake package: heed::heed, heed::threads, heed::openmp.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/heed"]
        self.cpp_info.libs = ["heed"]
