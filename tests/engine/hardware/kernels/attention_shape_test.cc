#include "engine/hardware/kernels/attention_shape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/hardware/kernels/attention_model.h"

namespace sextant {
namespace {

// Counts what a causal mask allows, pair by pair; queries are the last of the positions.
double Counted(const AttentionShape& shape, WindowForm form) {
  double out = 0;
  const int64_t keys = KeySequence(shape);
  for (int64_t query = keys - shape.sequence; query < keys; ++query) {
    for (int64_t key = 0; key <= query; ++key) {
      const bool slid = query - key < shape.window;
      const int64_t chunk = shape.window == 0 ? keys : shape.window;
      const bool chunked = query / chunk == key / chunk;
      if (form == WindowForm::kChunked ? chunked : shape.window == 0 || slid) ++out;
    }
  }
  return out;
}

TEST(AttendedPairs, AreThoseThatAMaskAllows) {
  for (int64_t sequence = 1; sequence <= 17; ++sequence) {
    for (int64_t keys = 0; keys <= 17; ++keys) {
      for (int64_t window = 0; window <= 19; ++window) {
        const AttentionShape shape = {.sequence = sequence, .key_sequence = keys, .window = window};
        for (const WindowForm form : {WindowForm::kSliding, WindowForm::kChunked}) {
          EXPECT_EQ(AttendedPairs(shape, form), Counted(shape, form))
              << sequence << " queries, " << keys << " keys, window " << window;
        }
      }
    }
  }
}

// One query at position 2^39 sees as many keys, and no difference of squares loses any.
TEST(AttendedPairs, AreExactForFewQueriesToManyKeys) {
  constexpr int64_t kKeys = int64_t{1} << 39;
  EXPECT_EQ(AttendedPairs({.sequence = 1, .key_sequence = kKeys}, WindowForm::kSliding), kKeys);
  EXPECT_EQ(AttendedPairs({.sequence = 1, .key_sequence = kKeys}, WindowForm::kChunked), kKeys);
  EXPECT_EQ(AttendedPairs({.sequence = 2, .key_sequence = kKeys, .window = kKeys - 1},
                          WindowForm::kChunked),
            kKeys);  // kKeys - 1 of the first chunk's last, and one of the second's first
}

TEST(AttendedPairs, WithoutAMaskAreAll) {
  EXPECT_EQ(AttendedPairs({.sequence = 10, .causal = false}, WindowForm::kSliding), 100);
  EXPECT_EQ(AttendedPairs({.sequence = 10, .causal = false, .window = 3}, WindowForm::kSliding),
            30);
  EXPECT_EQ(AttendedPairs({.sequence = 10, .key_sequence = 4, .causal = false, .window = 5},
                          WindowForm::kSliding),
            40);
}

// One causal sequence of 4096 tokens in c x c blocks: c (c - 1) / 2 blocks without a mask, of 4096
// / c tokens each, and c causal ones.
TEST(AttentionFlops, OfBlocksAddUpToTheWholeSequences) {
  const AttentionShape whole = {
      .batch = 2, .sequence = 4096, .heads = 3, .query_key_head_size = 128, .value_head_size = 128};
  for (const int64_t parts : {2, 4, 8, 16}) {
    AttentionShape block = whole;
    block.sequence /= parts;
    const double diagonal = AttentionFlops(block) * static_cast<double>(parts);
    block.causal = false;
    const double full = AttentionFlops(block);
    EXPECT_EQ(diagonal + full * static_cast<double>(parts * (parts - 1) / 2),
              AttentionFlops(whole));
    block.key_sequence = block.sequence / 2;  // a ring's step
    EXPECT_EQ(2 * AttentionFlops(block), full);
    // Chunks of queries, each to all keys up to its own end.
    AttentionShape chunk = whole;
    chunk.sequence /= parts;
    double chunks = 0;
    for (int64_t i = 1; i <= parts; ++i) {
      chunk.key_sequence = i * chunk.sequence;
      chunks += AttentionFlops(chunk);
    }
    EXPECT_EQ(chunks, AttentionFlops(whole));
  }
}

// 10 queries of 3 heads, 7 keys of 1 head, 8 numbers of a key and of a value together; of a window
// of 2 the last 10 + 2 - 1 of 20 keys.
TEST(AttentionElements, AreOfAllQueriesAndOfAttendedKeys) {
  AttentionShape shape = {.sequence = 10,
                          .key_sequence = 7,
                          .heads = 3,
                          .query_key_head_size = 5,
                          .value_head_size = 3,
                          .causal = false};
  EXPECT_EQ(AttentionElements(shape), (10.0 * 3 + 7) * 8);
  shape.key_sequence = 20;
  shape.causal = true;
  EXPECT_EQ(AttentionElements(shape), (10.0 * 3 + 20) * 8);
  shape.window = 2;
  EXPECT_EQ(AttentionElements(shape), (10.0 * 3 + 11) * 8);
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

// 512 queries at the end of 2048 keys, 6 heads, tiles of 128 on 10 units: 24 tiles, 3 waves.
TEST(AttentionTerms, OfUnequalLengthsAreThoseWorkedByHand) {
  AttentionShape shape = {.batch = 2,
                          .sequence = 512,
                          .key_sequence = 2048,
                          .heads = 3,
                          .query_key_head_size = 64,
                          .value_head_size = 64};
  const double pairs = 512 * 1536 + 512 * 513 / 2 + 512 * 64;  // 4 masked halves of tiles
  const double even = 6 * pairs * 64 / 10;
  const double tile = 128.0 * 2048 * 64;
  // Whole waves are 30 tiles: 640 queries of each head, of 1409 to 2048 keys, and half a tile.
  const double waves = 3 * 128 * 64 * ((1409 + 2048) / 2.0 + 64);
  const TermShape causal = AttentionTerms(shape, {.query_tile = 128}, 10);
  EXPECT_EQ(causal.terms, (TermArray{1, even, std::max(even, tile), waves, tile, 1024.0 * 128 * 3,
                                     4096.0 * 128, 0}));
  EXPECT_EQ(causal.position[0], 10);  // the middle of 2^9 and 2^11
  // 500 queries have as many tiles, which walk over as many keys; so have 640, of as many waves.
  shape.sequence = 500;
  EXPECT_EQ(AttentionTerms(shape, {.query_tile = 128}, 10).terms[3], causal.terms[3]);
  shape.sequence = 640;
  EXPECT_EQ(AttentionTerms(shape, {.query_tile = 128}, 10).terms[3], causal.terms[3]);
  shape.sequence = 512;
  shape.causal = false;
  const TermShape full = AttentionTerms(shape, {.query_tile = 128}, 10);
  EXPECT_EQ(full.terms[1], 6 * 512 * 2048.0 * 64 / 10);
  EXPECT_EQ(full.terms[3], 3 * 128 * 2048.0 * 64);
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
