// See select.hpp. SPDX-License-Identifier: MIT
#include "select.hpp"

#include <algorithm>
#include <set>

namespace heed_import {
namespace {

// What each * has matched is appended to `stars`.
bool match(const char *pattern, const char *name, std::vector<std::string> &stars) {
  for (; *pattern && *pattern != '*'; ++pattern, ++name) {
    if (*name == 0 || (*pattern != '?' && *pattern != *name)) return false;
  }
  if (*pattern == 0) return *name == 0;
  const size_t n = stars.size();
  for (const char *end = name;; ++end) {
    stars.resize(n);
    stars.emplace_back(name, end);
    if (match(pattern + 1, end, stars)) return true;
    if (*end == 0) return false;
  }
}

bool any(const std::vector<std::string> &patterns, const std::string &name, std::set<std::string> &used) {
  bool found = false;
  for (const std::string &pattern : patterns) {
    if (matches(pattern, name)) found = true, used.insert(pattern);
  }
  return found;
}

bool is_matrix(const tensor &t) {
  int n = 0;
  for (const uint32_t dim : t.dims) n += dim > 1;
  return n > 1;
}

wish wish_for(const tensor &t, const std::vector<format_rule> &rules, std::set<std::string> &used) {
  wish general, own;
  bool named = false;
  for (const format_rule &rule : rules) {
    if (rule.pattern.empty()) {
      general = rule.what;
    } else if (matches(rule.pattern, t.name)) {
      own = rule.what, named = true;
      used.insert(rule.pattern);
    }
  }
  if (named) return own;
  return is_matrix(t) ? general : wish{HEED_F32, false};
}

void expect_used(const selection &by, const std::set<std::string> &used) {
  std::vector<std::string> all;
  for (const auto *list : {&by.only, &by.leave_out, &by.transpose, &by.in_out, &by.out_in}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  for (const format_rule &rule : by.formats) {
    if (!rule.pattern.empty()) all.push_back(rule.pattern);
  }
  for (const std::string &pattern : all) {
    if (used.count(pattern) == 0) throw refusal("no tensor that is imported matches " + pattern);
  }
}

// Says which dimension has the outputs. Blocks, packed weights and scales for each output already do.
void set_layout(tensor &t, int32_t layout) {
  t.unsure.clear();
  if (t.dims.size() < 2 || t.layout == layout) return;
  const std::string is = t.layout == HEED_IN_OUT ? "(in, out)" : "(out, in)";
  if (t.layout == HEED_PACKED)
    refuse(t.name, "is packed: --in-out and --out-in are for the weights that it was made of");
  if (in_blocks(t.dtype)) refuse(t.name, "is in blocks of inputs: it is " + is);
  if (t.scales.size() > 1) refuse(t.name, "has a scale for each output: it is " + is);
  t.layout = layout;
}

}  // namespace

bool matches(const std::string &pattern, const std::string &name) {
  std::vector<std::string> stars;
  return match(pattern.c_str(), name.c_str(), stars);
}

std::string renamed(const std::vector<rename_rule> &rules, const std::string &name) {
  for (const rename_rule &rule : rules) {
    std::vector<std::string> stars;
    if (!match(rule.from.c_str(), name.c_str(), stars)) continue;
    std::string to;
    size_t k = 0;
    for (const char c : rule.to) {
      if (c != '*') {
        to += c;
      } else {
        if (k == stars.size()) throw refusal("the new name " + rule.to + " has more * than " + rule.from);
        to += stars[k++];
      }
    }
    return to;
  }
  return name;
}

format_rule format_rule_of(const std::string &word) {
  const size_t at = word.find('=');
  if (at == 0 || (at != std::string::npos && at + 1 == word.size())) throw refusal(word + ": no FORMAT=PATTERN");
  return {wish_of(word.substr(0, at)), at == std::string::npos ? "" : word.substr(at + 1)};
}

std::vector<tensor> selected(std::vector<tensor> &&all, const selection &by, std::vector<std::string> &left_out) {
  std::vector<tensor> chosen;
  std::set<std::string> used;
  left_out.clear();
  for (tensor &t : all) {
    if (by.node_names && !t.suggested.empty()) t.name = t.suggested;
    if (any(by.leave_out, t.name, used)) continue;
    if (!by.only.empty() && !any(by.only, t.name, used) && !t.is_metadata) continue;
    if (!t.refused.empty()) refuse(t.name, t.refused);
    if (!t.left_out.empty()) {
      left_out.push_back(t.name + ": " + t.left_out);
      continue;
    }
    if (t.is_metadata) {
      chosen.push_back(std::move(t));
      continue;
    }
    const bool in_out = any(by.in_out, t.name, used), out_in = any(by.out_in, t.name, used);
    if (in_out && out_in) refuse(t.name, "--in-out and --out-in both match it");
    if (in_out) set_layout(t, HEED_IN_OUT);
    if (out_in) set_layout(t, HEED_OUT_IN);
    if (!t.unsure.empty())
      refuse(t.name, t.unsure + ": --in-out or --out-in says what it is, --leave-out leaves it out");
    const wish what = wish_for(t, by.formats, used);
    if (any(by.transpose, t.name, used)) transpose(t);
    if (!is_no_weight(t)) convert(t, what);
    t.name = renamed(by.rename, t.name);
    chosen.push_back(std::move(t));
  }
  expect_used(by, used);
  const auto is_tokenizer = [](const tensor &t) { return t.name == "tokenizer"; };
  if (std::all_of(chosen.begin(), chosen.end(), [](const tensor &t) { return t.is_metadata; }) &&
      std::none_of(chosen.begin(), chosen.end(), is_tokenizer))
    throw refusal("no tensor is left");
  return chosen;
}

}  // namespace heed_import
