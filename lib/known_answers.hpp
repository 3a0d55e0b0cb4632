// What the reference's results of the self-tests come to, in each arithmetic. A change of a rule of arithmetic.hpp changes some
// of these numbers, and with them the contract's number; the report of a self-test that fails then gives the new ones. A case that
// comes later gets an answer of its own, which is no part of the contract: fleets compare that number, and rules have not changed.
#ifndef HEED_KNOWN_ANSWERS_HPP
#define HEED_KNOWN_ANSWERS_HPP

#include <stdint.h>

namespace heed {

struct known_answers {
  uint32_t no_fma, has_fma;
};
constexpr known_answers known_of_attention = {0xe8a96821, 0xea2d9cb9}, known_at_boot = {0x9babd150, 0x106dd9e9};
constexpr known_answers known_of_features[] = {
    {0x1667d04f, 0x0751ab48},  // rms_norm
    {0x5f8a65e5, 0x84520dcd},  // layer_norm
    {0x1898ab36, 0x4a322a71},  // gelu
    {0x195fa8f7, 0x98e5aeb6},  // gelu_tanh
    {0xcf2b9886, 0x5f9fe472},  // silu
    {0x6ccf03ff, 0x6ccf03ff},  // relu
    {0xb0dcb6fe, 0xb0dcb6fe},  // add
    {0x9c30eb1c, 0x1836949d},  // rope
    {0xf9734745, 0xf9734745},  // formats
    {0xb1f9ed57, 0xe36e6d2a},  // project
    {0x517d060f, 0x00127031},  // packed
    {0xae119ac9, 0xa17ad4e5},  // options
    {0x0c39c5e3, 0x68560f0c},  // cache
    {0xedbb00fc, 0xedbb00fc},  // tanh
    {0xc96deb89, 0x73262949},  // sigmoid
};
constexpr uint32_t known_int_attention = 0x810a762b, known_int_products = 0xab733d5f, known_int_rows = 0x8b08558c;
constexpr uint32_t known_int_rope = 0x0013d1bd;  // since 0.3.1: no part of the contract, whose rules are those of 0.3.0

constexpr uint32_t with_answer(uint32_t sum, uint32_t answer) { return (sum ^ answer) * 16777619u; }  // FNV-1a
constexpr uint32_t answer_of(const known_answers &k, bool has_fma) { return has_fma ? k.has_fma : k.no_fma; }

constexpr uint32_t contract_of_floats(bool has_fma) {
  uint32_t sum = with_answer(2166136261u, answer_of(known_of_attention, has_fma));
  sum = with_answer(sum, answer_of(known_at_boot, has_fma));
  for (const known_answers &k : known_of_features) sum = with_answer(sum, answer_of(k, has_fma));
  return sum;
}
constexpr uint32_t contract_of_integers =
    with_answer(with_answer(with_answer(2166136261u, known_int_attention), known_int_products), known_int_rows);

}  // namespace heed

#endif
