// Counts over random models and layouts, against elements that are put on GPUs one by one.
#include "tests/engine/model/sharding/random_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/model_weights.h"
#include "engine/model/sharding/sharded_weights.h"
#include "tests/engine/model/sharding/naive_ranks.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

absl::StatusOr<ShardedWeights> Shard(const RandomSharding& drawn) {
  return ShardedWeights::Of(drawn.spec, "model", drawn.layout, "layout");
}

// Passes 300 random models and layouts, and their weights, to `check`.
template <typename Check>
void ForSharded(const Check& check) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSharding drawn = DrawSharding(seed);
    const auto weights = Shard(drawn);
    ASSERT_THAT(weights, IsOk());
    check(drawn, *weights);
  }
}

// The properties below are of something: each of the rules is drawn.
TEST(RandomSharding, DrawsEveryCase) {
  int copied_keys = 0;
  int split_keys = 0;
  int joined_experts = 0;
  int copied_ends = 0;
  int interleaved = 0;
  int empty_stages = 0;
  ForSharded([&](const RandomSharding& drawn, const ShardedWeights& weights) {
    interleaved += drawn.layout.virtual_stage_count > 1 ? 1 : 0;
    for (int64_t stage = 0; stage < weights.stage_count(); ++stage) {
      empty_stages += weights.Stage(stage).layer_count == 0 ? 1 : 0;
      for (const StageTensor& t : TensorsOn(weights, stage)) {
        const bool shared = t.tensor.module == "shared_experts" && t.tensor.copies == 2;
        const bool key = t.tensor.module == "attention" && t.tensor.name == "key";
        copied_keys += key && t.shard.holders > 1 ? 1 : 0;
        split_keys += key && drawn.layout.split_key_value_heads ? 1 : 0;
        joined_experts += shared && t.shard.copies == 1 ? 1 : 0;
        copied_ends += t.repeated ? 1 : 0;
      }
    }
  });
  for (const int count :
       {copied_keys, split_keys, joined_experts, copied_ends, interleaved, empty_stages}) {
    EXPECT_GT(count, 10);
  }
}

// By the order of WeightsOf(): what each GPU of `stage` holds of each tensor.
std::vector<StageTensor> ByTensor(const ShardedWeights& weights, const WeightTensors& tensors,
                                  int64_t stage) {
  std::vector<StageTensor> out(tensors.size());
  const auto same = [](const WeightTensor& a, const WeightTensor& b) {
    return a.part == b.part && a.layer_kind == b.layer_kind && a.module == b.module &&
           a.name == b.name && a.role == b.role;
  };
  for (const StageTensor& held : TensorsOn(weights, stage)) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (same(held.tensor, tensors[i])) out[i] = held;
    }
  }
  return out;
}

TEST(RandomSharding, EveryGpuHoldsWhatItComputesWith) {
  ForSharded([&](const RandomSharding& drawn, const ShardedWeights& weights) {
    const WeightTensors tensors = WeightsOf(drawn.spec);
    const NaiveRanks naive = PlaceElementwise(drawn.spec, drawn.layout);
    for (size_t stage = 0; stage < naive.held.size(); ++stage) {
      const std::vector<StageTensor> held = ByTensor(weights, tensors, static_cast<int64_t>(stage));
      for (const std::vector<NaiveCount>& gpu : naive.held[stage]) {
        for (size_t i = 0; i < tensors.size(); ++i) {
          EXPECT_EQ(held[i].elements(), gpu[i].total) << WeightNameOf(drawn.spec, tensors[i]);
          EXPECT_EQ(held[i].trainable_elements(), gpu[i].trainable)
              << WeightNameOf(drawn.spec, tensors[i]);
        }
      }
    }
  });
}

TEST(RandomSharding, GpusTogetherHoldTheModelOnce) {
  ForSharded([&](const RandomSharding& drawn, const ShardedWeights& weights) {
    const NaiveRanks naive = PlaceElementwise(drawn.spec, drawn.layout);
    EXPECT_EQ(naive.distinct, weights.model().count().all.total);
    int64_t distinct = 0;
    for (int64_t stage = 0; stage < weights.stage_count(); ++stage) {
      int64_t of_stage = 0;
      for (const StageTensor& held : TensorsOn(weights, stage)) {
        const int64_t whole = held.elements() * held.shard.ranks / held.shard.holders;
        of_stage += whole;
        if (!held.repeated) distinct += whole;
      }
      EXPECT_EQ(of_stage, naive.distinct_of_stage[static_cast<size_t>(stage)]);
    }
    EXPECT_EQ(distinct, weights.model().count().all.total);
  });
}

TEST(RandomSharding, TheJobHoldsThePlainSum) {
  ForSharded([&](const RandomSharding& drawn, const ShardedWeights& weights) {
    const NaiveRanks naive = PlaceElementwise(drawn.spec, drawn.layout);
    int64_t sum = 0;
    for (const auto& stage : naive.held) {
      for (const auto& gpu : stage) {
        for (const NaiveCount& tensor : gpu) sum += tensor.total;
      }
    }
    int64_t held = 0;
    for (int64_t stage = 0; stage < weights.stage_count(); ++stage) {
      held += weights.CountOn(stage).total * naive.gpus_per_stage;
    }
    EXPECT_EQ(held, sum);
    EXPECT_GE(sum, weights.model().count().all.total);
  });
}

void AddTo(ShardCount& sum, const ShardCount& count) {
  sum.total += count.total;
  sum.trainable += count.trainable;
}

TEST(RandomSharding, AStageIsTheSumOfItsTensorsAndComponents) {
  ForSharded([](const RandomSharding& drawn, const ShardedWeights& weights) {
    int64_t layers = 0;
    for (int64_t stage = 0; stage < weights.stage_count(); ++stage) {
      const StageWeights counts = weights.Stage(stage);
      ShardCount tensors;
      ShardCount components;
      ShardCount groups;
      int64_t repeated = 0;
      for (const StageTensor& t : TensorsOn(weights, stage)) {
        AddTo(tensors, {.total = t.elements(), .trainable = t.trainable_elements()});
        if (t.repeated) repeated += t.elements();
      }
      for (const auto& group : counts.by_component) {
        for (const ShardCount& component : group) AddTo(components, component);
      }
      for (const ShardCount& group : counts.by_group) AddTo(groups, group);
      EXPECT_EQ(counts.all, tensors);
      EXPECT_EQ(counts.all, components);
      EXPECT_EQ(counts.all, groups);
      EXPECT_EQ(counts.repeated, repeated);
      layers += counts.layer_count;
    }
    EXPECT_EQ(layers, LayerCountOf(drawn.spec.encoder) + LayerCountOf(drawn.spec.decoder));
  });
}

// One GPU holds the model as it is counted without any layout.
TEST(RandomSharding, OneGpuHoldsTheModel) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSharding drawn = DrawSharding(seed);
    drawn.layout = {};
    const auto weights = Shard(drawn);
    ASSERT_THAT(weights, IsOk());
    const ArchitectureCount& whole = weights->model().count();
    const StageWeights counts = weights->Stage(0);
    EXPECT_EQ(counts.all, (ShardCount{whole.all.total, whole.all.trainable}));
    for (size_t c = 0; c < whole.by_component.size(); ++c) {
      EXPECT_EQ(counts.by_component[0][c].total + counts.by_component[1][c].total,
                whole.by_component[c].total);
    }
    EXPECT_EQ(counts.repeated, 0);
  }
}

}  // namespace
}  // namespace sextant
