// Where storages lie in a program's memory. See steps.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "steps.hpp"

namespace heed_compile {
namespace {

constexpr int64_t unit = HEED_ALIGNMENT;

int64_t bytes_of(const storage &s) {
  const int64_t n = s.count * (s.kind == element::booleans ? 1 : 4);
  return (std::max<int64_t>(n, 1) + unit - 1) / unit * unit;
}

struct life {
  int first = std::numeric_limits<int>::max(), last = -1;
  int with = -1;  // the storage whose place it takes
};

}  // namespace

void place_storages(steps &p, const lower_choices &how) {
  std::vector<life> lives(p.storages.size());
  const auto lives_at = [&](int at, int step) {
    life &l = lives[static_cast<size_t>(at)];
    l.first = std::min(l.first, step);
    l.last = std::max(l.last, step);
  };
  const int n_steps = static_cast<int>(p.list.size());
  for (int i = 0; i < n_steps; ++i)
    for (const argument &a : p.list[static_cast<size_t>(i)].arguments)
      if (a.is == argument::what::pointer) lives_at(a.index, i);
  // Inputs and outputs of the known answers: an input is there from the beginning, an output until the end.
  for (const int at : p.inputs) lives_at(at, 0);
  for (const int at : p.outputs) lives_at(at, std::max(n_steps - 1, 0));
  const auto is_placed = [&](const storage &s) {
    return s.where == place::memory || (how.keeps_known_answers && s.where != place::constant);
  };
  // A step that may write where it reads does so, if nothing reads that later.
  for (int i = 0; i < n_steps; ++i) {
    const step &s = p.list[static_cast<size_t>(i)];
    if (s.in_place < 0) continue;
    int to = -1;
    for (const argument &a : s.arguments)
      if (a.is == argument::what::pointer && a.is_written) to = a.index;
    if (to < 0 || p.storages[static_cast<size_t>(to)].where != place::memory) continue;
    if (lives[static_cast<size_t>(s.in_place)].last != i || lives[static_cast<size_t>(to)].first != i) continue;
    lives[static_cast<size_t>(to)].with = s.in_place;
  }
  // The life of a place is that of all who share it. The first of them is found before the others, since steps are in order.
  const auto owner = [&](int at) {
    while (lives[static_cast<size_t>(at)].with >= 0) at = lives[static_cast<size_t>(at)].with;
    return at;
  };
  for (size_t i = 0; i < lives.size(); ++i) {
    life &of = lives[static_cast<size_t>(owner(static_cast<int>(i)))];
    of.last = std::max(of.last, lives[i].last);
  }
  std::vector<int> order;
  for (size_t i = 0; i < p.storages.size(); ++i)
    if (is_placed(p.storages[i]) && lives[i].with < 0 && lives[i].last >= 0) order.push_back(static_cast<int>(i));
  // The largest first: they fit worst.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return bytes_of(p.storages[static_cast<size_t>(a)]) > bytes_of(p.storages[static_cast<size_t>(b)]);
  });
  std::vector<int> placed;
  int64_t end = 0;
  for (const int at : order) {
    storage &s = p.storages[static_cast<size_t>(at)];
    const life &mine = lives[static_cast<size_t>(at)];
    std::vector<std::pair<int64_t, int64_t>> taken;  // by storages that live at the same time
    for (const int other : placed) {
      const life &theirs = lives[static_cast<size_t>(other)];
      const storage &o = p.storages[static_cast<size_t>(other)];
      if (theirs.first <= mine.last && mine.first <= theirs.last) taken.push_back({o.address, o.address + bytes_of(o)});
    }
    std::sort(taken.begin(), taken.end());
    int64_t address = 0;
    for (const auto &[from, to] : taken) {
      if (address + bytes_of(s) <= from) break;
      address = std::max(address, to);
    }
    s.address = address;
    end = std::max(end, address + bytes_of(s));
    placed.push_back(at);
  }
  for (size_t i = 0; i < lives.size(); ++i)
    if (lives[i].with >= 0) p.storages[i].address = p.storages[static_cast<size_t>(owner(static_cast<int>(i)))].address;
  p.workspace_address = end;
  end += (p.workspace_bytes + unit - 1) / unit * unit;
  if (end > std::numeric_limits<int32_t>::max()) throw refusal("the program would need more than 2 GB of memory");
  p.memory_bytes = std::max<int64_t>(end, unit);
}

}  // namespace heed_compile
