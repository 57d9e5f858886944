// Mean attended lengths against a count of (query, key) pairs, one by one.
#include "engine/model/flops/attended_length.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

struct Mask {
  bool causal;
  int64_t window;
  int64_t chunk;
};

bool SameChunk(int64_t query, int64_t key, const Mask& mask) {
  return mask.chunk == 0 || query / mask.chunk == key / mask.chunk;
}

// True where a query sees a key; without itself, the window reaches one further back.
bool Sees(int64_t query, int64_t key, const Mask& mask) {
  const int64_t back = query - key;
  return SameChunk(query, key, mask) && back >= 0 && (mask.window == 0 || back < mask.window);
}
bool SeesBefore(int64_t query, int64_t key, const Mask& mask) {
  const int64_t back = query - key;
  return SameChunk(query, key, mask) && back >= 1 && (mask.window == 0 || back <= mask.window);
}

struct Pairs {
  double full = 0;
  double with_itself = 0;
  double before_itself = 0;
};

Pairs CountPairs(int64_t length, const Mask& mask) {
  Pairs out;
  for (int64_t query = 0; query < length; ++query) {
    int64_t reach = 0;  // positions of its chunk, at most a window of them
    for (int64_t key = 0; key < length; ++key) {
      if (SameChunk(query, key, mask) && (mask.window == 0 || reach < mask.window)) ++reach;
      out.with_itself += Sees(query, key, mask);
      out.before_itself += SeesBefore(query, key, mask);
    }
    out.full += static_cast<double>(reach);
  }
  return out;
}

AttentionSpec AttentionOf(const Mask& mask) {
  return {.mask = mask.causal ? AttentionMask::kCausal : AttentionMask::kFull,
          .window = mask.window,
          .chunk = mask.chunk};
}

// Over ragged batches: a mean over all tokens, not of lengths.
void ExpectAgrees(const TrainingStepSpec& step, const Mask& mask) {
  Pairs sum;
  double tokens = 0;
  for (const SequenceGroup& group : step.sequences) {
    const Pairs pairs = CountPairs(group.length, mask);
    const auto count = static_cast<double>(group.count);
    sum.full += count * pairs.full;
    sum.with_itself += count * pairs.with_itself;
    sum.before_itself += count * pairs.before_itself;
    tokens += count * static_cast<double>(group.length);
  }
  const ByMask<double> got = TokenShares(step).Attended(AttentionOf(mask), false);
  const auto of = [&got](MaskConvention m) { return got[static_cast<size_t>(m)]; };
  EXPECT_DOUBLE_EQ(of(MaskConvention::kFull), sum.full / tokens);
  if (!mask.causal) {
    EXPECT_DOUBLE_EQ(of(MaskConvention::kCausal), sum.full / tokens);
    EXPECT_DOUBLE_EQ(of(MaskConvention::kCausalDiagonal), sum.full / tokens);
    return;
  }
  EXPECT_DOUBLE_EQ(of(MaskConvention::kCausalDiagonal), sum.with_itself / tokens);
  EXPECT_DOUBLE_EQ(of(MaskConvention::kCausal), (sum.with_itself + sum.before_itself) / 2 / tokens);
}

TEST(AttendedLength, AgreesWithACountOfPairs) {
  for (int64_t length = 1; length <= 12; ++length) {
    for (int64_t span = 0; span <= 14; ++span) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(testing::Message() << length << " " << span << " " << causal);
        ExpectAgrees({.sequences = {{3, length}}}, {causal, span, 0});
        ExpectAgrees({.sequences = {{3, length}}}, {causal, 0, span});
      }
    }
  }
}

TEST(AttendedLength, OfRaggedBatchesIsASumOfSquares) {
  const TrainingStepSpec ragged = {.sequences = {{2, 3}, {1, 11}, {5, 1}, {1, 8}}};
  for (int64_t span = 0; span <= 12; ++span) {
    SCOPED_TRACE(span);
    ExpectAgrees(ragged, {true, span, 0});
    ExpectAgrees(ragged, {true, 0, span});
    ExpectAgrees(ragged, {false, span, 0});
  }
  // Two sequences of 1 and 3 tokens: (1 + 9)/4, not the 2 of a mean length.
  const TrainingStepSpec two = {.sequences = {{1, 1}, {1, 3}}};
  EXPECT_EQ(TokenShares(two).Attended({}, false)[0], 2.5);
}

// s, s/2 and (s + 1)/2 by hand; within a window w - w^2/(2s) and w - w (w - 1)/(2s).
TEST(AttendedLength, ByHand) {
  const TrainingStepSpec step = {.sequences = {{7, 8192}}};
  const TokenShares shares(step);
  EXPECT_EQ(shares.Attended({}, false), (ByMask<double>{8192, 4096, 4096.5}));
  EXPECT_EQ(shares.Attended({.window = 4096}, false), (ByMask<double>{4096, 3072, 3072.25}));
  EXPECT_EQ(shares.Attended({.chunk = 2048}, false), (ByMask<double>{2048, 1024, 1024.5}));
}

TEST(AttendedLength, OfTheLongestStepIsExact) {
  const TrainingStepSpec step = {.sequences = {{999'999'999, 999'999'999}}};
  EXPECT_EQ(TokenShares(step).Attended({}, false),
            (ByMask<double>{999'999'999, 999'999'999 / 2.0, 500'000'000}));
}

TEST(TokenShares, OfAnEncoderAndADecoder) {
  const TrainingStepSpec step = {.sequences = {{2, 4, 8}, {1, 2, 14}}};
  const TokenShares shares(step);
  EXPECT_EQ(shares.tokens(), 10);
  EXPECT_DOUBLE_EQ(shares.encoder_tokens(), 3);  // 30 of them
  EXPECT_DOUBLE_EQ(shares.sequences(), 0.3);
  EXPECT_DOUBLE_EQ(shares.cross_pairs(), 9.2);  // 2 x 4 x 8 + 2 x 14
  EXPECT_DOUBLE_EQ(shares.Attended({.mask = AttentionMask::kFull}, true)[0], 32.4);  // 2 x 64 + 196
}

}  // namespace
}  // namespace sextant
