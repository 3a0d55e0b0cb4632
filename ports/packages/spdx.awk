# sha1sum's lines -> a bill of materials of the source archive (SPDX 2.3, tag and value). SPDX-License-Identifier: MIT
#   awk -v version=... -v url=... -v date=... -v code=... -f spdx.awk; code is the SHA1 of all files' SHA1, sorted and joined
{
  sum[NR] = $1
  file[NR] = $2
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
  for (i = 1; i <= NR; i++) {
    print ""
    print "FileName: ./" file[i]
    print "SPDXID: SPDXRef-file-" i
    print "FileChecksum: SHA1: " sum[i]
    print "LicenseConcluded: MIT"
    print "LicenseInfoInFile: MIT"
    print "FileCopyrightText: NOASSERTION"
  }
  print ""
  print "PackageName: xsimd"
  print "SPDXID: SPDXRef-xsimd"
  print "PackageComment: Headers, 8.1 or newer, used to build the kernels for x86, NEON and SVE. Not in this archive. Left out, the generic kernels remain."
  print "PackageDownloadLocation: https://github.com/xtensor-stack/xsimd"
  print "FilesAnalyzed: false"
  print "PackageLicenseConcluded: BSD-3-Clause"
  print "PackageLicenseDeclared: BSD-3-Clause"
  print "PackageCopyrightText: NOASSERTION"
  print "Relationship: SPDXRef-xsimd OPTIONAL_DEPENDENCY_OF SPDXRef-heed"
}
