#include "engine/memory/state/state_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

absl::Status Check(const StateCase& c) {
  FieldViolations violations;
  CheckStateSpec(c.state, c.spec, c.layout, c.context_parallel_size, violations);
  return violations.ToStatus();
}

TEST(CheckStateSpec, PassesWhatIsSound) {
  EXPECT_THAT(Check(DenseCase()), IsOk());
  StateCase c = ExpertsCase();
  c.layout.expert_parallel_size = 2;
  c.state.sharding = {.data_parallel_size = 8,
                      .zero_stage = ZeroStage::kParameters,
                      .shard_group_size = 4,
                      .prefetched_unit_count = 2,
                      .offload_optimizer = true,
                      .offload_parameters = true};
  EXPECT_THAT(Check(c), IsOk());
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam8bit}) {
    c.state.optimizer.kind = kind;
    EXPECT_THAT(Check(c), IsOk());
  }
}

TEST(CheckStateSpec, HoldsSizesToTheirRanges) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    StateCase c = DenseCase();
    c.state.sharding.data_parallel_size = bad;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("cluster.device_count")));
  }
  for (const int64_t bad : {int64_t{-1}, INT64_MAX}) {
    StateCase c = DenseCase();
    c.state.sharding.zero_stage = ZeroStage::kParameters;
    c.state.sharding.prefetched_unit_count = bad;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.prefetched_unit_count")));
    c = DenseCase();
    c.state.fp8_weight_copies = bad;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.fp8_weight_copies")));
  }
}

TEST(CheckStateSpec, RefusesGroupsThatRanksDontDivideInto) {
  for (const int64_t bad : {int64_t{3}, int64_t{16}, int64_t{-2}, INT64_MIN, INT64_MAX}) {
    StateCase c = DenseCase();
    c.state.sharding = {
        .data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer, .shard_group_size = bad};
    c.context_parallel_size = 2;
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.shard_group_size"))) << bad;
  }
}

// 8 ranks hold a shard, or 4 where copies of it are held.
TEST(CheckStateSpec, RefusesSecondGroupsThatDontDivideAShard) {
  StateCase c = DenseCase();
  c.state.sharding = {.data_parallel_size = 8, .zero_stage = ZeroStage::kParameters};
  const auto named = NamesFields(ElementsAre("layout.sharding.secondary_group_size"));
  for (const int64_t bad : {int64_t{3}, int64_t{16}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    c.state.sharding.secondary_group_size = bad;
    EXPECT_THAT(Check(c), named) << bad;
  }
  c.state.sharding.secondary_group_size = 8;
  EXPECT_THAT(Check(c), IsOk());
  c.state.sharding.shard_group_size = 4;
  EXPECT_THAT(Check(c), named);
  c.state.sharding = {.data_parallel_size = 8, .secondary_group_size = 4};
  EXPECT_THAT(Check(c), named);
}

TEST(CheckStateSpec, RefusesExpertsThatRanksDontShareEvenly) {
  StateCase c = ExpertsCase();
  c.layout.expert_parallel_size = 4;
  c.state.sharding.data_parallel_size = 6;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("cluster.device_count")));
  c.state.sharding.data_parallel_size = 8;
  EXPECT_THAT(Check(c), IsOk());
  // A group of 2 GPUs can't hold 4 parts of the experts.
  c.state.sharding.zero_stage = ZeroStage::kOptimizer;
  c.state.sharding.shard_group_size = 2;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.shard_group_size")));
}

TEST(CheckStateSpec, RefusesOptionsOfAnotherZeroStage) {
  StateCase c = DenseCase();
  c.state.sharding = {.shard_group_size = 1,
                      .reshard_after_forward = false,
                      .prefetched_unit_count = 2,
                      .offload_optimizer = true,
                      .offload_parameters = true};
  EXPECT_THAT(Check(c),
              NamesFields(ElementsAre(
                  "layout.sharding.shard_group_size", "layout.sharding.reshard_after_forward",
                  "layout.sharding.prefetched_unit_count", "layout.sharding.offload_parameters")));
  c.state.sharding = {.zero_stage = ZeroStage::kParameters,
                      .reshard_after_forward = false,
                      .prefetched_unit_count = 3};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.prefetched_unit_count")));
}

TEST(CheckStateSpec, RefusesWhatAnOptimizerCannotDivide) {
  StateCase c = DenseCase();
  c.state.optimizer.kind = OptimizerKind::kGalore;
  c.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.zero_stage")));
  c.state.optimizer = {.in_backward = true};
  c.state.sharding.offload_optimizer = true;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.offload_optimizer")));
}

TEST(CheckStateSpec, RefusesParametersOffloadedAlone) {
  StateCase c = DenseCase();
  c.state.sharding = {.zero_stage = ZeroStage::kParameters, .offload_parameters = true};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.sharding.offload_parameters")));
}

TEST(CheckStateSpec, RefusesFormatsOfNothing) {
  StateCase c = DenseCase();
  c.state.frozen = {.block_size = 64, .double_quantization = true};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.frozen_block_size",
                                                "layout.storage.double_quantization")));
  c.state.frozen = {.data_type = DataType::kFp4};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.frozen_data_type")));
}

TEST(CheckStateSpec, RefusesFormatsThatFrozenWeightsHaveNot) {
  StateCase c = DenseCase();
  c.spec.frozen_components = {WeightComponent::kNorm};
  c.state.frozen = {.data_type = DataType::kBf16};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.frozen_data_type")));
  c.state.frozen = {.data_type = DataType::kInt8, .double_quantization = true};
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.double_quantization")));
  for (const int64_t bad : {int64_t{-1}, int64_t{7}, INT64_MAX}) {
    c.state.frozen = {.data_type = DataType::kInt4, .block_size = bad};
    EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.frozen_block_size")));
  }
}

TEST(CheckStateSpec, RefusesFp8OptionsWithoutFp8) {
  StateCase c = DenseCase();
  c.state.weight_scaling = WeightScaling::kTensor;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.scaling")));
  c.state.precision.weight_data_type = DataType::kFp8;
  c.state.fp8_weight_copies = 1;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.fp8_weight_copies")));
  c = DenseCase();
  c.state.fp8_weight_copies = 1;
  c.state.sharding.zero_stage = ZeroStage::kParameters;
  EXPECT_THAT(Check(c), NamesFields(ElementsAre("layout.storage.fp8_weight_copies")));
}

TEST(CheckStateSpec, ChecksThePolicyAndThatItIsFilledIn) {
  StateCase c = DenseCase();
  c.state.precision = {};
  c.state.optimizer.adafactor_momentum = true;
  EXPECT_THAT(Check(c),
              NamesFields(ElementsAre(
                  "training.optimizer.adafactor_momentum", "training.precision.compute_data_type",
                  "training.precision.weight_data_type", "training.precision.gradient_data_type",
                  "training.precision.optimizer_data_type")));
}

}  // namespace
}  // namespace sextant
