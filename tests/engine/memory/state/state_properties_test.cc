// Properties over random models, layouts and ways to keep state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/memory/model_state.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/model_weights.h"
#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/sharding/naive_ranks.h"
#include "tests/engine/model/sharding/random_sharding.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kStateModels = 200;
constexpr ZeroStage kZeroStages[] = {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kGradients,
                                     ZeroStage::kParameters};

class StateDraw {
 public:
  explicit StateDraw(uint32_t seed) : random_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  StateCase Case(uint32_t seed) {
    const RandomSharding drawn = DrawSharding(seed);
    StateCase c = {.spec = drawn.spec, .layout = drawn.layout};
    // So many ranks that experts are shared evenly, by any group of half of them too.
    const int64_t holders =
        c.layout.expert_parallel_size * ExpertTensorParallelSize(c.layout) * Between(1, 3);
    c.state.sharding.data_parallel_size = 2 * holders;
    c.context_parallel_size = Between(1, 2);
    c.state.sharding.zero_stage = kZeroStages[Between(0, 3)];
    if (c.state.sharding.zero_stage != ZeroStage::kNone && Between(0, 1) == 1) {
      c.state.sharding.shard_group_size = holders * c.context_parallel_size;
    }
    c.state.optimizer.kind = static_cast<OptimizerKind>(Between(0, 9));
    if (c.state.optimizer.kind == OptimizerKind::kAdam8bit) {
      c.state.optimizer.quantization_block_size = Between(1, 40);
    }
    if (c.spec.base_frozen && Between(0, 1) == 1) {
      c.state.frozen = {.data_type = Between(0, 1) == 1 ? DataType::kFp4 : DataType::kInt8,
                        .block_size = Between(0, 1) == 1 ? 0 : Between(8, 20)};
    }
    return c;
  }

  // And with what only some ZeRO stages and formats have.
  void AddOptions(StateCase& c) {
    StateSharding& s = c.state.sharding;
    s.offload_optimizer = Between(0, 2) == 0;
    if (s.zero_stage == ZeroStage::kParameters) {
      s.reshard_after_forward = Between(0, 2) > 0;
      if (s.reshard_after_forward) s.prefetched_unit_count = Between(0, 3);
      s.offload_parameters = s.offload_optimizer && Between(0, 1) == 1;
    } else {
      c.state.fp8_weight_copies = Between(0, 2);
    }
    if (c.state.fp8_weight_copies == 0 && Between(0, 1) == 1) {
      c.state.precision.weight_data_type = DataType::kFp8;
    }
    if (c.state.fp8_weight_copies > 0 || c.state.precision.weight_data_type == DataType::kFp8) {
      c.state.weight_scaling = static_cast<WeightScaling>(Between(0, 3));
    }
  }

 private:
  std::mt19937 random_;
};

template <typename Visit>
void ForEachStateStage(Visit visit) {
  for (uint32_t seed = 0; seed < kStateModels; ++seed) {
    SCOPED_TRACE(seed);
    const StateCase c = StateDraw(seed).Case(seed);
    for (int64_t stage = 0; stage < c.layout.pipeline_parallel_size; ++stage) visit(c, stage);
  }
}

TEST(StateProperties, RowsAddUp) {
  StateDraw draw(1);
  ForEachStateStage([&draw](StateCase c, int64_t stage) {
    draw.AddOptions(c);
    LedgerRows rows;
    const StageState state = StateOf(c, stage, &rows);
    std::array<int64_t, kLedgerKindCount> sums{};
    for (const LedgerRow& row : rows) {
      EXPECT_EQ(row.size.value(),
                ((row.elements * row.element_bits + 7) / 8 + row.scale_bytes) * row.layers);
      EXPECT_GT(row.size, Bytes(0));
      EXPECT_FALSE(
          row.source.empty() || row.why.empty() || row.alive.empty() ||
          (row.element_kind == RowElements::kNumber && row.data_type == DataType::kUnspecified));
      sums[static_cast<size_t>(row.kind)] += row.size.value();
    }
    const auto sum = [&sums](LedgerKind kind) { return Bytes(sums[static_cast<size_t>(kind)]); };
    EXPECT_EQ(sum(LedgerKind::kWeight), state.weights);
    EXPECT_EQ(sum(LedgerKind::kGradient), state.gradients);
    EXPECT_EQ(sum(LedgerKind::kMasterWeight), state.master_weights);
    EXPECT_EQ(sum(LedgerKind::kOptimizerState), state.optimizer_state);
    EXPECT_EQ(sum(LedgerKind::kTransient), state.transients());
    EXPECT_EQ(StateOf(c, stage).total(), state.total());
  });
}

TEST(StateProperties, NeverGrowsWithTheZeroStage) {
  ForEachStateStage([](StateCase c, int64_t stage) {
    c.state.sharding.shard_group_size = 0;
    int64_t last = INT64_MAX;
    for (const ZeroStage zero : kZeroStages) {
      c.state.sharding.zero_stage = zero;
      const int64_t now = StateOf(c, stage).total().value();
      EXPECT_LE(now, last);
      last = now;
    }
  });
}

TEST(StateProperties, MovesToTheHostAsItIs) {
  ForEachStateStage([](StateCase c, int64_t stage) {
    const Bytes here = StateOf(c, stage).total();
    c.state.sharding.offload_optimizer = true;
    EXPECT_EQ(StateOf(c, stage).total() + StateOf(c, stage).host, here);
    if (c.state.sharding.zero_stage != ZeroStage::kParameters) return;
    c.state.sharding.offload_parameters = true;
    EXPECT_EQ(StateOf(c, stage).host, here);
  });
}

// Whoever divides a tensor holds it once together, but for less than an element each.
TEST(StateProperties, RanksTogetherHoldTheModel) {
  for (uint32_t seed = 0; seed < kStateModels; ++seed) {
    SCOPED_TRACE(seed);
    StateCase c = StateDraw(seed).Case(seed);
    c.state.sharding.zero_stage = ZeroStage::kParameters;
    c.state.optimizer = {};
    c.state.frozen = {};
    const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
    ASSERT_THAT(weights, IsOk());
    const StateRanks ranks = StateRanksOf(c.layout, c.state.sharding, c.context_parallel_size);
    int64_t held = 0;
    int64_t slack = 0;
    for (int64_t stage = 0; stage < weights->stage_count(); ++stage) {
      LedgerRows rows;
      StateOf(c, stage, &rows);
      size_t next = 0;
      for (const StageTensor& t : TensorsOn(*weights, stage)) {
        while (rows[next].term != "weight") ++next;
        const LedgerRow& row = rows[next++];
        ASSERT_EQ(row.module, t.tensor.module);
        if (t.repeated) continue;
        const int64_t parts = ranks.of(t.shard.group) * t.shard.ranks / t.shard.holders;
        held += row.elements * row.layers * parts;
        slack += parts;
      }
    }
    EXPECT_GE(held, weights->model().count().all.total);
    EXPECT_LT(held - weights->model().count().all.total, slack);
  }
}

// One GPU has what the plain sum over the model's tensors says.
TEST(StateProperties, OfOneGpuIsTheWholeModels) {
  for (uint32_t seed = 0; seed < kStateModels; ++seed) {
    SCOPED_TRACE(seed);
    StateCase c = StateDraw(seed).Case(seed);
    c.layout = {};
    c.context_parallel_size = 1;
    c.state.frozen = {};
    c.state.sharding = {.zero_stage = c.state.sharding.zero_stage};
    const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
    ASSERT_THAT(weights, IsOk());
    const auto whole = ModelStateOf(weights->model().count().all, WeightsOf(c.spec),
                                    c.state.precision, c.state.optimizer);
    ASSERT_THAT(whole, IsOk());
    EXPECT_EQ(StateOf(c).total(), whole->total);
  }
}

// The units that a stage gathers, layer by layer and window by window.
class NaiveUnits {
 public:
  NaiveUnits(const StateCase& c, const ShardedWeights& weights, int64_t stage)
      : case_(c), tensors_(TensorsOn(weights, stage)) {
    for (const StackSpec* stack : {&c.spec.encoder, &c.spec.decoder}) {
      const ModelPart part = stack == &c.spec.encoder ? ModelPart::kEncoder : ModelPart::kDecoder;
      for (const LayerRun& run : stack->layers) {
        layers_.insert(layers_.end(), static_cast<size_t>(run.count), {part, run.layer_kind});
      }
    }
  }

  int64_t Root() const {
    return Sum([](const WeightTensor& t) { return IsRoot(t); });
  }

  int64_t LargestWindow(const LayerRange& chunk, bool with_modules, int64_t width) const {
    std::vector<int64_t> units;
    for (int64_t i = chunk.first; i < chunk.first + chunk.count; ++i) {
      units.push_back(OfLayer(layers_[static_cast<size_t>(i)]));
    }
    const auto& modules = case_.spec.multi_token_prediction;
    if (with_modules && modules) {
      const int64_t unit =
          Sum([](const WeightTensor& t) { return t.part == ModelPart::kMultiTokenPrediction; });
      units.insert(units.end(), static_cast<size_t>(modules->module_count), unit);
    }
    int64_t largest = 0;
    for (size_t i = 0; i < units.size(); ++i) {
      int64_t sum = 0;
      for (size_t j = i; j < units.size() && j < i + static_cast<size_t>(width); ++j) {
        sum += units[j];
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

 private:
  struct Layer {
    ModelPart part;
    int kind;
  };

  static bool IsRoot(const WeightTensor& t) {
    return t.layer_kind < 0 && t.part != ModelPart::kMultiTokenPrediction;
  }

  template <typename Which>
  int64_t Sum(Which which) const {
    const StateRanks ranks =
        StateRanksOf(case_.layout, case_.state.sharding, case_.context_parallel_size);
    int64_t sum = 0;
    for (const StageTensor& t : tensors_) {
      if (which(t.tensor) && ranks.of(t.shard.group) > 1) sum += t.shard.elements();
    }
    return sum;
  }

  int64_t OfLayer(const Layer& layer) const {
    return Sum([&layer](const WeightTensor& t) {
      return t.part == layer.part && t.layer_kind == layer.kind;
    });
  }

  const StateCase& case_;
  const std::vector<StageTensor> tensors_;
  std::vector<Layer> layers_;
};

TEST(StateProperties, GathersTheLargestWindow) {
  ForEachStateStage([](StateCase c, int64_t stage) {
    c.state.sharding.zero_stage = ZeroStage::kParameters;
    c.state.frozen = {};
    const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
    ASSERT_THAT(weights, IsOk());
    const NaiveUnits naive(c, *weights, stage);
    for (int64_t ahead = 0; ahead < 5; ++ahead) {
      c.state.sharding.prefetched_unit_count = ahead;
      int64_t largest = 0;
      for (int64_t chunk = 0; chunk < c.layout.virtual_stage_count; ++chunk) {
        const bool last = stage == c.layout.pipeline_parallel_size - 1 &&
                          chunk == c.layout.virtual_stage_count - 1;
        largest = std::max(largest, naive.LargestWindow(weights->placement().ChunkOf(stage, chunk),
                                                        last, 1 + ahead));
      }
      EXPECT_EQ(StateOf(c, stage).gathered_weights, Bytes(2 * (naive.Root() + largest)));
    }
  });
}

}  // namespace
}  // namespace sextant
