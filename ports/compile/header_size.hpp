// What a program takes of RAM, read off its own header. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_HEADER_SIZE_HPP
#define HEED_COMPILE_HEADER_SIZE_HPP

#include <cstdint>
#include <string>

namespace heed_compile {

// sizeof(NAME) where pointers have 4 bytes: of a struct in a header that write_*.cpp has written. Such a header is not all of C: its
// structs have fields of heed's types and of its own, and their lengths are sums and products of its constants and of heed's macros.
uint64_t size_in_header(const std::string &header, const std::string &name);

}  // namespace heed_compile

#endif
