// See readers.hpp. SPDX-License-Identifier: MIT
#include "readers.hpp"
#include "receipts.hpp"

namespace heed_import {

std::vector<tensor> read_receipt(span file) {
  const std::string text(reinterpret_cast<const char *>(file.data), file.size);
  receipts::receipt r;
  try {
    r = receipts::read(text);
  } catch (const std::runtime_error &error) {
    throw refusal(error.what());
  }
  tensor t;
  t.name = "golden." + r.arithmetic;
  t.dims = {static_cast<uint32_t>(file.size)};
  t.dtype = HEED_FILE_TEXT;
  t.refer(file);
  std::vector<tensor> tensors;
  tensors.push_back(std::move(t));
  return tensors;
}

}  // namespace heed_import
