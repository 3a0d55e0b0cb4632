# The target heed_manual: HTML pages of the public headers and of the manual, by Doxygen. They begin at build/manual/index.html.
set(manual_pages include/README.md README.md ports/README.md ports/from-pytorch.md ports/from-onnx.md ports/from-cmsis-nn.md ports/families.md ports/integers.md
    ports/packages/README.md ports/sensor/README.md ports/cortex-m/README.md ports/cortex-m/STACK.md ports/riscv/README.md ports/xtensa/README.md ports/targets.md ports/mpi/README.md ports/kwt/README.md ports/dreams/README.md
    bench/README.md ports/CHANGES.md)
list(JOIN manual_pages " " manual_pages)
configure_file(ports/cmake/Doxyfile.in Doxyfile @ONLY)
add_custom_target(heed_manual COMMAND sh ${PROJECT_SOURCE_DIR}/ports/cmake/doxygen.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} VERBATIM)
