// Steps that make no sense, or are too large to count.
#include "engine/model/flops/training_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::UnorderedElementsAre;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

absl::Status Check(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  FieldViolations violations;
  CheckTrainingStep(step, spec, "step", violations);
  return violations.ToStatus();
}

TEST(CheckTrainingStep, NeedsSequences) {
  EXPECT_THAT(Check(SmallDecoder(), {}), NamesFields(UnorderedElementsAre("step.sequences")));
  EXPECT_THAT(
      Check(SmallDecoder(), {.sequences = {{0, 0}, {-1, -1}}}),
      NamesFields(UnorderedElementsAre("step.sequences[0].count", "step.sequences[0].length",
                                       "step.sequences[1].count", "step.sequences[1].length")));
  EXPECT_THAT(
      Check(SmallDecoder(), {.sequences = {{kHuge, kHuge}}}),
      NamesFields(UnorderedElementsAre("step.sequences[0].count", "step.sequences[0].length")));
}

TEST(CheckTrainingStep, RefusesMoreTokensThanCanBeCounted) {
  EXPECT_THAT(Check(SmallDecoder(), {.sequences = {{1'000'000'000, 1'000'000'000}}}), IsOk());
  EXPECT_THAT(Check(SmallDecoder(), {.sequences = {{1'000'000'000, 1'000'000'000}, {1, 1}}}),
              NamesFields(UnorderedElementsAre("step.sequences")));
  // Their sum overflows 64 bits.
  TrainingStepSpec many;
  many.sequences.assign(20, {1'000'000'000'000, 1'000'000'000});
  EXPECT_THAT(Check(SmallDecoder(), many), NamesFields(UnorderedElementsAre("step.sequences")));
  TrainingStepSpec encoder = {.sequences = {{1'000'000'000'000, 1, 1'000'000'000}}};
  EXPECT_THAT(Check(SmallEncoderDecoder(), encoder),
              NamesFields(UnorderedElementsAre("step.sequences")));
}

TEST(CheckTrainingStep, RefusesTooManyGroups) {
  TrainingStepSpec step;
  step.sequences.assign(65536, {1, 1});
  EXPECT_THAT(Check(SmallDecoder(), step), IsOk());
  ArchitectureSpec many = SmallDecoder();
  many.layer_kinds.resize(153, many.layer_kinds[0]);
  EXPECT_THAT(Check(many, step), NamesFields(UnorderedElementsAre("step.sequences")));
  step.sequences.push_back({1, 1});
  EXPECT_THAT(Check(SmallDecoder(), step), NamesFields(UnorderedElementsAre("step.sequences")));
}

TEST(CheckTrainingStep, EncoderLengthsAreOfTwoStacks) {
  EXPECT_THAT(Check(SmallDecoder(), {.sequences = {{1, 4, 4}}}),
              NamesFields(UnorderedElementsAre("step.sequences[0].encoder_length")));
  EXPECT_THAT(Check(SmallEncoderDecoder(), {.sequences = {{1, 4}}}),
              NamesFields(UnorderedElementsAre("step.sequences[0].encoder_length")));
}

TEST(CheckTrainingStep, LearnedPositionsBoundLengths) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.learned_position_count = 16;
  EXPECT_THAT(Check(spec, {.sequences = {{1, 16}}}), IsOk());
  EXPECT_THAT(Check(spec, {.sequences = {{1, 17}}}),
              NamesFields(UnorderedElementsAre("step.sequences[0].length")));
  spec.decoder.first_position = 2;
  EXPECT_THAT(Check(spec, {.sequences = {{1, 14}}}), IsOk());
  EXPECT_THAT(Check(spec, {.sequences = {{1, 15}}}),
              NamesFields(UnorderedElementsAre("step.sequences[0].length")));
  for (const int64_t fault : {std::numeric_limits<int64_t>::min(), kHuge}) {
    spec.decoder.first_position = fault;
    EXPECT_THAT(Check(spec, {.sequences = {{1, 1}}}), IsOk());
    EXPECT_THAT(Check(spec, {.sequences = {{1, 17}}}),
                NamesFields(UnorderedElementsAre("step.sequences[0].length")));
  }
}

TEST(CheckTrainingStep, CapacityIsAPositiveNumberOfAMixture) {
  for (const double bad : {0.0, -1.0, std::nan(""), 1e7, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(Check(SmallMixture(), {.sequences = {{1, 1}}, .expert_capacity_factor = bad}),
                NamesFields(UnorderedElementsAre("step.expert_capacity_factor")))
        << bad;
  }
  EXPECT_THAT(Check(SmallDecoder(), {.sequences = {{1, 1}}, .expert_capacity_factor = 1.0}),
              NamesFields(UnorderedElementsAre("step.expert_capacity_factor")));
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

}  // namespace
}  // namespace sextant
