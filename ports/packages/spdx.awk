# Lines "SHA1 SHA256 FILE" -> a bill of materials of the source archive (SPDX 2.3, tag and value). SPDX-License-Identifier: MIT
#   awk -v version=... -v url=... -v date=... -v code=... -f spdx.awk; code is the SHA1 of all files' SHA1, sorted and joined
function kind(name) {
  if (name ~ /\.(md|txt)$|LICENSE$/) return "DOCUMENTATION"
  return name ~ /\.(png|npy|wav|bin)$/ ? "BINARY" : "SOURCE"
}
# What is used if it is there, and is not in the archive. RELATION: its relation to heed, without _OF.
function other(name, license, home, relation, text) {
  print ""
  print "PackageName: " name
  print "SPDXID: SPDXRef-" name
  print "PackageComment: " text " Not in this archive."
  print "PackageDownloadLocation: " home
  print "FilesAnalyzed: false"
  print "PackageLicenseConcluded: " license
  print "PackageLicenseDeclared: " license
  print "PackageCopyrightText: NOASSERTION"
  print "Relationship: SPDXRef-" name " " relation "_OF SPDXRef-heed"
}
{
  sum[NR] = $1
  sum256[NR] = $2
  file[NR] = $3
}
END {
  print "SPDXVersion: SPDX-2.3"
  print "DataLicense: CC0-1.0"
  print "SPDXID: SPDXRef-DOCUMENT"
  print "DocumentName: heed-" version
  print "DocumentNamespace: " url "/spdx/heed-" version "-" code
  print "Creator: Tool: heed/ports/packages/release.sh"
  print "Created: " date
  print "Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-heed"
  print ""
  print "PackageName: heed"
  print "SPDXID: SPDXRef-heed"
  print "PackageVersion: " version
  print "PackageFileName: heed-" version ".tar.gz"
  print "PackageSupplier: NOASSERTION"
  print "PackageDownloadLocation: " url "/releases/heed-" version ".tar.gz"
  print "FilesAnalyzed: true"
  print "PackageVerificationCode: " code " (excludes: ./heed.spdx)"
  print "PackageLicenseConcluded: MIT"
  print "PackageLicenseInfoFromFiles: MIT"
  print "PackageLicenseDeclared: MIT"
  print "PackageCopyrightText: Copyright (c) 2026 The heed authors"
  print "PrimaryPackagePurpose: LIBRARY"
  print "ExternalRef: PACKAGE-MANAGER purl pkg:generic/heed@" version
  for (i = 1; i <= NR; i++) {
    print ""
    print "FileName: ./" file[i]
    print "SPDXID: SPDXRef-file-" i
    print "FileType: " kind(file[i])
    print "FileChecksum: SHA1: " sum[i]
    print "FileChecksum: SHA256: " sum256[i]
    print "LicenseConcluded: MIT"
    print "LicenseInfoInFile: MIT"
    print "FileCopyrightText: NOASSERTION"
  }
  other("xsimd", "BSD-3-Clause", "https://github.com/xtensor-stack/xsimd", "OPTIONAL_DEPENDENCY",
        "Headers, 8.1 or newer, used to build the kernels for x86, NEON and SVE. Left out, the generic kernels remain. Firmware and the drop-in files need none.")
  other("OpenMP", "NOASSERTION", "https://www.openmp.org", "OPTIONAL_DEPENDENCY",
        "The compiler's runtime, linked by heed_openmp alone.")
  other("mbedTLS", "Apache-2.0", "https://github.com/Mbed-TLS/mbedtls", "OPTIONAL_DEPENDENCY",
        "Another SHA-256 for receipts (ports/receipt), linked if a program chooses it.")
  other("protozero", "BSD-2-Clause", "https://github.com/mapbox/protozero", "OPTIONAL_DEPENDENCY",
        "Headers that read ONNX, for heed_import and heed_compile.")
  other("nlohmann-json", "MIT", "https://github.com/nlohmann/json", "OPTIONAL_DEPENDENCY",
        "Headers that read JSON, for heed_import and vocabularies.")
  other("utf8proc", "MIT AND Unicode-DFS-2015", "https://github.com/JuliaStrings/utf8proc", "OPTIONAL_DEPENDENCY",
        "Unicode's tables, linked by heed_import alone, which reads tokenizers with them.")
  other("libpng", "libpng-2.0", "http://www.libpng.org", "OPTIONAL_DEPENDENCY", "Pictures, for heed_map.")
  other("GoogleTest", "BSD-3-Clause", "https://github.com/google/googletest", "TEST_DEPENDENCY", "For the tests.")
  other("benchmark", "Apache-2.0", "https://github.com/google/benchmark", "DEV_DEPENDENCY", "For the benchmarks.")
}
