// Steps that make no sense or are too large to count, and the mean lengths that their tokens attend
// to.
#include "engine/model/flops/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/model/flops/attended_length.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::UnorderedElementsAre;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

absl::Status CheckStep(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  FieldViolations violations;
  CheckTrainingStep(step, spec, "step", violations);
  return violations.ToStatus();
}

auto NamesOnly(const char* field) { return NamesFields(UnorderedElementsAre(field)); }

TEST(CheckTrainingStep, NeedsSequences) {
  EXPECT_THAT(CheckStep(SmallDecoder(), {}), NamesOnly("step.sequences"));
  EXPECT_THAT(
      CheckStep(SmallDecoder(), {.sequences = {{0, 0}, {-1, -1}}}),
      NamesFields(UnorderedElementsAre("step.sequences[0].count", "step.sequences[0].length",
                                       "step.sequences[1].count", "step.sequences[1].length")));
  EXPECT_THAT(
      CheckStep(SmallDecoder(), {.sequences = {{kHuge, kHuge}}}),
      NamesFields(UnorderedElementsAre("step.sequences[0].count", "step.sequences[0].length")));
}

TEST(CheckTrainingStep, RefusesMoreTokensThanCanBeCounted) {
  EXPECT_THAT(CheckStep(SmallDecoder(), {.sequences = {{1'000'000'000, 1'000'000'000}}}), IsOk());
  EXPECT_THAT(CheckStep(SmallDecoder(), {.sequences = {{1'000'000'000, 1'000'000'000}, {1, 1}}}),
              NamesOnly("step.sequences"));
  // Their sum overflows 64 bits.
  TrainingStepSpec many;
  many.sequences.assign(20, {1'000'000'000'000, 1'000'000'000});
  EXPECT_THAT(CheckStep(SmallDecoder(), many), NamesOnly("step.sequences"));
  TrainingStepSpec encoder = {.sequences = {{1'000'000'000'000, 1, 1'000'000'000}}};
  EXPECT_THAT(CheckStep(SmallEncoderDecoder(), encoder), NamesOnly("step.sequences"));
}

TEST(CheckTrainingStep, RefusesTooManyGroups) {
  TrainingStepSpec step;
  step.sequences.assign(65536, {1, 1});
  EXPECT_THAT(CheckStep(SmallDecoder(), step), IsOk());
  ArchitectureSpec many = SmallDecoder();
  many.layer_kinds.resize(153, many.layer_kinds[0]);
  EXPECT_THAT(CheckStep(many, step), NamesOnly("step.sequences"));
  step.sequences.push_back({1, 1});
  EXPECT_THAT(CheckStep(SmallDecoder(), step), NamesOnly("step.sequences"));
}

TEST(CheckTrainingStep, EncoderLengthsAreOfTwoStacks) {
  EXPECT_THAT(CheckStep(SmallDecoder(), {.sequences = {{1, 4, 4}}}),
              NamesOnly("step.sequences[0].encoder_length"));
  EXPECT_THAT(CheckStep(SmallEncoderDecoder(), {.sequences = {{1, 4}}}),
              NamesOnly("step.sequences[0].encoder_length"));
}

TEST(CheckTrainingStep, LearnedPositionsBoundLengths) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.learned_position_count = 16;
  EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 16}}}), IsOk());
  EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 17}}}), NamesOnly("step.sequences[0].length"));
  spec.decoder.first_position = 2;
  EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 14}}}), IsOk());
  EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 15}}}), NamesOnly("step.sequences[0].length"));
  for (const int64_t fault : {std::numeric_limits<int64_t>::min(), kHuge}) {
    spec.decoder.first_position = fault;
    EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 1}}}), IsOk());
    EXPECT_THAT(CheckStep(spec, {.sequences = {{1, 17}}}), NamesOnly("step.sequences[0].length"));
  }
}

TEST(CheckTrainingStep, CapacityIsAPositiveNumberOfAMixture) {
  for (const double bad : {0.0, -1.0, std::nan(""), 1e7, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(CheckStep(SmallMixture(), {.sequences = {{1, 1}}, .expert_capacity_factor = bad}),
                NamesOnly("step.expert_capacity_factor"))
        << bad;
  }
  EXPECT_THAT(CheckStep(SmallDecoder(), {.sequences = {{1, 1}}, .expert_capacity_factor = 1.0}),
              NamesOnly("step.expert_capacity_factor"));
}

TEST(CountStep, NamesFaultsOfModelAndStepTogether) {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 0;
  EXPECT_THAT(
      CountStepOf(spec, {}, FlopsDetail::kTotals),
      NamesFields(UnorderedElementsAre("model.architecture.hidden_size", "step.sequences")));
  EXPECT_THAT(CountStepOf(ArchitectureSpec(), {.sequences = {{1, 1, 1}}}, FlopsDetail::kTotals),
              NamesFields(::testing::Contains("step.sequences[0].encoder_length")));
}

// More parameters than can be counted are refused before their FLOPs.
TEST(CountStep, RefusesTooManyParameters) {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 10'000'000;
  spec.layer_kinds[0].feed_forward->size = 100'000'000;
  EXPECT_THAT(CountStepOf(spec, {.sequences = {{1, 1}}}, FlopsDetail::kTotals),
              NamesFields(UnorderedElementsAre("model")));
}

// The largest model on the largest step is a finite number of FLOPs.
TEST(CountStep, OfTheLargestIsFinite) {
  ArchitectureSpec spec = SmallDecoder();
  AttentionSpec& attention = *spec.layer_kinds[0].attention;
  attention = Heads(1'000'000, 1, 10);
  spec.decoder.layers[0].count = 1'000'000;
  const auto flops =
      CountStepOf(spec, {.sequences = {{1'000'000'000, 1'000'000'000}}}, FlopsDetail::kTotals);
  ASSERT_THAT(flops, IsOk());
  for (const MaskConvention mask : {MaskConvention::kFull, MaskConvention::kCausal}) {
    EXPECT_TRUE(std::isfinite(flops->PerStep(mask).HardwareWithFlashRecompute().value()));
  }
  EXPECT_GT(flops->PerStep(MaskConvention::kFull).Model().value(), 1e40);
}

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
