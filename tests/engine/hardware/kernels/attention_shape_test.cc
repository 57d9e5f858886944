#include "engine/hardware/kernels/attention_shape.h"

#include <gtest/gtest.h>

#include "engine/hardware/kernels/attention_model.h"

namespace sextant {
namespace {

// Counts what a mask allows, pair by pair.
double Counted(const AttentionShape& shape, WindowForm form) {
  double out = 0;
  for (int64_t query = 0; query < shape.sequence; ++query) {
    for (int64_t key = 0; key <= query; ++key) {
      const bool slid = query - key < shape.window;
      const int64_t chunk = shape.window == 0 ? shape.sequence : shape.window;
      const bool chunked = query / chunk == key / chunk;
      if (form == WindowForm::kChunked ? chunked : shape.window == 0 || slid) ++out;
    }
  }
  return out;
}

TEST(AttendedPairs, AreThoseThatAMaskAllows) {
  for (int64_t sequence = 1; sequence <= 17; ++sequence) {
    for (int64_t window = 0; window <= 19; ++window) {
      const AttentionShape shape = {.sequence = sequence, .window = window};
      for (const WindowForm form : {WindowForm::kSliding, WindowForm::kChunked}) {
        EXPECT_EQ(AttendedPairs(shape, form), Counted(shape, form))
            << sequence << " tokens, window " << window;
      }
    }
  }
}

TEST(AttendedPairs, WithoutAMaskAreAll) {
  EXPECT_EQ(AttendedPairs({.sequence = 10, .causal = false}, WindowForm::kSliding), 100);
  EXPECT_EQ(AttendedPairs({.sequence = 10, .causal = false, .window = 3}, WindowForm::kSliding),
            30);
}

// 2 (192 + 128) FLOPs, 3 sequences, 4 heads, 5 x 6 / 2 pairs.
TEST(AttentionFlops, CountBothProducts) {
  const AttentionShape shape = {.batch = 3,
                                .sequence = 5,
                                .heads = 4,
                                .key_value_heads = 4,
                                .query_key_head_size = 192,
                                .value_head_size = 128};
  EXPECT_EQ(AttentionFlops(shape), 2.0 * 320 * 3 * 4 * 15);
  // 15 tokens, 4 + 4 heads, 320 elements each.
  EXPECT_EQ(AttentionElements(shape), 15.0 * 8 * 320);
}

// 1024 queries of 2 sequences and 3 heads in tiles of 128 on 10 units: 48 tiles, 5 waves.
TEST(AttentionTerms, AreThoseWorkedByHand) {
  const AttentionShape shape = {.batch = 2,
                                .sequence = 1024,
                                .heads = 3,
                                .key_value_heads = 1,
                                .query_key_head_size = 64,
                                .value_head_size = 64};
  const TermShape terms = AttentionTerms(shape, {.query_tile = 128}, 10);
  const double pairs = 1024 * 1025 / 2 + 1024 * 64;  // and the masked half of 8 diagonal tiles
  const double even = 6 * pairs * 64 / 10;
  const double tile = 128.0 * 1024 * 64;  // the last tile of a head
  ASSERT_LT(tile, even);
  EXPECT_EQ(terms.terms, (TermArray{1, even, even, 5 * pairs / 8 * 64, tile, 2048.0 * 128 * 3,
                                    2048.0 * 128, 0}));
}

// One tile of a head alone: the device waits for it.
TEST(AttentionTerms, OfFewHeadsWaitForTheLongestTile) {
  const AttentionShape shape = {.sequence = 1024, .query_key_head_size = 64, .value_head_size = 64};
  const TermShape terms = AttentionTerms(shape, {.query_tile = 128}, 132);
  EXPECT_EQ(terms.terms[2], 128.0 * 1024 * 64);
  EXPECT_LT(terms.terms[1], terms.terms[2]);
}

// A window leaves 256 keys, and 128 more while a tile slides; chunks don't slide.
TEST(AttentionTerms, KnowWhatAWindowLeaves) {
  const AttentionShape shape = {
      .sequence = 4096, .query_key_head_size = 1, .value_head_size = 1, .window = 256};
  const TermShape sliding = AttentionTerms(shape, {.query_tile = 128}, 1);
  EXPECT_EQ(sliding.terms[4], 128.0 * 384);
  EXPECT_EQ(sliding.terms[7], 4096.0 * 4097 / 2);
  const TermShape chunked =
      AttentionTerms(shape, {.query_tile = 128, .window = WindowForm::kChunked}, 1);
  EXPECT_EQ(chunked.terms[4], 128.0 * 256);
  EXPECT_EQ(chunked.terms[1], 16 * 256.0 * 257 / 2 + 4096 * 64);
}

}  // namespace
}  // namespace sextant
