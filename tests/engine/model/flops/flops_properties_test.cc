// Properties of every model and every step; and each model written out as a graph, layer by layer
// and head by head, against the accounting of single operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/activation_flow.h"
#include "engine/model/flops/count_flops.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/engine/model/flops/model_graph.h"
#include "tests/engine/model/flops/random_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kFlopsModels = 500;
constexpr int64_t kMaxLength = 20;

void ExpectNear(const PassFlops& a, const PassFlops& b) {
  const double bound = 1e-12 * a.Model().value();
  EXPECT_NEAR(a.forward.value(), b.forward.value(), bound);
  EXPECT_NEAR(a.input_gradient.value(), b.input_gradient.value(), bound);
  EXPECT_NEAR(a.weight_gradient.value(), b.weight_gradient.value(), bound);
  EXPECT_NEAR(a.recompute.value(), b.recompute.value(), bound);
  EXPECT_NEAR(a.flash_recompute.value(), b.flash_recompute.value(), bound);
  EXPECT_NEAR(a.capacity.value(), b.capacity.value(), bound);
}

struct Drawn {
  ArchitectureSpec spec;
  TrainingStepSpec step;
};

Drawn Draw(uint32_t seed, RandomModelOptions options) {
  RandomModels random(seed, options);
  Drawn out = {.spec = random.Model(), .step = {}};
  out.step = random.Step(out.spec, kMaxLength);
  out.step.recompute = static_cast<RecomputePolicy>(random.Between(0, 2));
  const bool experts = std::any_of(out.spec.layer_kinds.begin(), out.spec.layer_kinds.end(),
                                   [](const LayerSpec& l) { return l.experts.has_value(); });
  if (experts && random.Chance()) out.step.expert_capacity_factor = 1.5;
  return out;
}

template <typename Check>
void ForDrawn(RandomModelOptions options, const Check& check) {
  for (uint32_t seed = 0; seed < kFlopsModels; ++seed) {
    SCOPED_TRACE(seed);
    check(Draw(seed, options));
  }
}

TEST(FlopsProperties, ComponentsSumToTotals) {
  ForDrawn({}, [](const Drawn& drawn) {
    const StepFlops flops = Counted(drawn.spec, drawn.step);
    const StepFlops totals =
        CountFlops(drawn.spec, WeightsOf(drawn.spec), drawn.step, FlopsDetail::kTotals);
    EXPECT_TRUE(totals.components.empty());
    for (size_t mask = 0; mask < flops.per_token.size(); ++mask) {
      PassFlops sum;
      for (const ComponentFlops& row : flops.components) sum = sum + row.per_token[mask];
      ExpectNear(flops.per_token[mask], sum);
      ExpectNear(flops.per_token[mask], totals.per_token[mask]);
    }
  });
}

TEST(FlopsProperties, EachComponentOfAPlaceIsOneRow) {
  ForDrawn({}, [](const Drawn& drawn) {
    const StepFlops flops = Counted(drawn.spec, drawn.step);
    for (const ComponentFlops& a : flops.components) {
      const auto same = [&a](const ComponentFlops& b) {
        return a.component == b.component && a.part == b.part && a.layer_kind == b.layer_kind;
      };
      EXPECT_EQ(std::count_if(flops.components.begin(), flops.components.end(), same), 1);
    }
  });
}

// An average token of a model that is all trained: backward twice forward.
TEST(FlopsProperties, TrainingIsThreeForwardPasses) {
  ForDrawn({.frozen = false}, [](const Drawn& drawn) {
    for (const PassFlops& flops : Counted(drawn.spec, drawn.step).per_token) {
      EXPECT_NEAR(flops.Model().value(), 3 * flops.forward.value(), 1e-12 * flops.Model().value());
    }
  });
}

TEST(FlopsProperties, FreezingNeverAddsWork) {
  ForDrawn({}, [](Drawn drawn) {
    const StepFlops frozen = Counted(drawn.spec, drawn.step);
    drawn.spec.base_frozen = false;
    drawn.spec.frozen_components.clear();
    for (LayerRun& run : drawn.spec.encoder.layers) run.frozen = false;
    for (LayerRun& run : drawn.spec.decoder.layers) run.frozen = false;
    const StepFlops trained = Counted(drawn.spec, drawn.step);
    for (size_t mask = 0; mask < frozen.per_token.size(); ++mask) {
      const PassFlops& a = frozen.per_token[mask];
      const PassFlops& b = trained.per_token[mask];
      EXPECT_NEAR(a.forward.value(), b.forward.value(), 1e-12 * a.forward.value());
      EXPECT_LE(a.input_gradient, b.input_gradient * (1 + 1e-12));
      EXPECT_LE(a.weight_gradient, b.weight_gradient * (1 + 1e-12));
      EXPECT_LE(a.recompute, b.recompute * (1 + 1e-12));
    }
  });
}

TEST(FlopsProperties, MasksAreInOrder) {
  ForDrawn({}, [](const Drawn& drawn) {
    const StepFlops flops = Counted(drawn.spec, drawn.step);
    const double causal = flops.PerToken(MaskConvention::kCausal).Model().value();
    const double diagonal = flops.PerToken(MaskConvention::kCausalDiagonal).Model().value();
    const double full = flops.PerToken(MaskConvention::kFull).Model().value();
    EXPECT_LE(causal, diagonal * (1 + 1e-12));
    EXPECT_LE(diagonal, full * (1 + 1e-12));
  });
}

// A window or a chunk as long as the longest sequence is none.
TEST(FlopsProperties, AWindowOfTheSequenceIsNone) {
  ForDrawn({.windows = false}, [](Drawn drawn) {
    const StepFlops none = Counted(drawn.spec, drawn.step);
    for (size_t i = 0; i < drawn.spec.layer_kinds.size(); ++i) {
      LayerSpec& layer = drawn.spec.layer_kinds[i];
      if (!layer.attention.has_value()) continue;
      (i % 2 == 0 ? layer.attention->window : layer.attention->chunk) = kMaxLength;
    }
    const StepFlops windows = Counted(drawn.spec, drawn.step);
    for (size_t mask = 0; mask < none.per_token.size(); ++mask) {
      EXPECT_EQ(windows.per_token[mask].Model(), none.per_token[mask].Model());
    }
  });
}

TEST(FlopsProperties, AStepGrowsWithItsSequences) {
  ForDrawn({}, [](Drawn drawn) {
    const StepFlops once = Counted(drawn.spec, drawn.step);
    for (SequenceGroup& group : drawn.step.sequences) group.count *= 7;
    const StepFlops seven = Counted(drawn.spec, drawn.step);
    EXPECT_EQ(seven.tokens, 7 * once.tokens);
    ExpectNear(seven.PerStep(MaskConvention::kCausal), once.PerStep(MaskConvention::kCausal) * 7);
  });
}

// A ragged batch costs what its sequences cost apart.
TEST(FlopsProperties, ARaggedBatchIsTheSumOfItsGroups) {
  ForDrawn({}, [](const Drawn& drawn) {
    const StepFlops whole = Counted(drawn.spec, drawn.step);
    ByMask<PassFlops> sum = {};
    for (const SequenceGroup& group : drawn.step.sequences) {
      TrainingStepSpec step = drawn.step;
      step.sequences = {group};
      const StepFlops apart = Counted(drawn.spec, step);
      for (size_t mask = 0; mask < sum.size(); ++mask) {
        sum[mask] = sum[mask] + apart.PerStep(static_cast<MaskConvention>(mask));
      }
    }
    for (size_t mask = 0; mask < sum.size(); ++mask) {
      ExpectNear(whole.PerStep(static_cast<MaskConvention>(mask)), sum[mask]);
    }
  });
}

// A run of n layers is n runs of one.
TEST(FlopsProperties, RunsOfLayersMayBeSplit) {
  ForDrawn({}, [](Drawn drawn) {
    const StepFlops whole = Counted(drawn.spec, drawn.step);
    for (StackSpec* stack : {&drawn.spec.encoder, &drawn.spec.decoder}) {
      std::vector<LayerRun> single;
      for (const LayerRun& run : stack->layers) {
        for (int64_t i = 0; i < run.count; ++i) single.push_back({run.layer_kind, 1, run.frozen});
      }
      stack->layers = single;
    }
    ExpectNear(Counted(drawn.spec, drawn.step).per_token[1], whole.per_token[1]);
  });
}

// No tensor of a layer falls through to where those stand that are not known.
TEST(FlopsProperties, EveryTensorOfALayerHasASite) {
  ForDrawn({}, [](const Drawn& drawn) {
    for (const WeightTensor& tensor : WeightsOf(drawn.spec)) {
      if (tensor.layer_kind < 0) continue;
      const WeightSite site = SiteOf(tensor);
      EXPECT_FALSE(site.reads == ActivationSite::kLayerInput &&
                   site.makes.Has(ActivationSite::kLayerOutput))
          << WeightNameOf(drawn.spec, tensor);
    }
  });
}

TEST(FlopsProperties, ConventionsAddUpToTheirDifferences) {
  int applicable = 0;
  ForDrawn({}, [&applicable](const Drawn& drawn) {
    const std::vector<ConventionFlops> rows = Conventions(drawn.spec, drawn.step);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kFlopsConventionCount));
    const double exact = rows[static_cast<size_t>(FlopsConvention::kExactCausal)].per_token.value();
    for (const ConventionFlops& row : rows) {
      if (!row.not_applicable.empty()) continue;
      ++applicable;
      double sum = exact;
      for (const TermDifference& term : row.differences) sum += term.per_token.value();
      EXPECT_NEAR(sum, row.per_token.value(), 1e-12 * (sum + exact));
      EXPECT_NEAR(row.ratio_to_exact, row.per_token.value() / exact, 1e-12);
    }
  });
  EXPECT_GT(applicable, 3 * static_cast<int>(kFlopsModels));
}

// 6 N is 6 times what is counted as active.
TEST(FlopsProperties, SixNIsSixTimesTheActiveParameters) {
  ForDrawn({.frozen = false}, [](const Drawn& drawn) {
    const auto count = CountArchitecture(drawn.spec, "");
    ASSERT_TRUE(count.ok());
    const ConventionFlops total = Convention(FlopsConvention::kSixNTotal, drawn.spec, drawn.step);
    if (!total.not_applicable.empty()) return;
    EXPECT_EQ(total.per_token.value(), 6.0 * static_cast<double>(count->all.active));
    int64_t embedding = 0;
    for (int i = 0; i < kWeightComponentCount; ++i) {
      const auto component = static_cast<WeightComponent>(i);
      if (IsEmbedding(component)) embedding += count->of(component).active;
    }
    EXPECT_EQ(
        Convention(FlopsConvention::kSixNNonEmbedding, drawn.spec, drawn.step).per_token.value(),
        6.0 * static_cast<double>(count->all.active - embedding));
  });
}

constexpr uint32_t kGraphModels = 400;

struct GraphFlops {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
};

// Matrix products alone. Each gradient of an operand is a product of the forward one's size;
// that the sum of both is the backward pass's is checked too.
GraphFlops ProductsOf(const GraphWriter& graph, const GraphAnalysis& analysis) {
  GraphFlops out;
  out.forward = analysis.totals.forward.matrix_flops.value();
  for (const GraphOperationRow& row : analysis.operations) {
    const double product = row.forward.sum.matrix_flops.value();
    for (const std::string& operand : row.gradients) {
      if (graph.IsVector(operand)) continue;
      (graph.IsParameter(operand) ? out.weight_gradient : out.input_gradient) += product;
    }
  }
  EXPECT_EQ(out.input_gradient + out.weight_gradient,
            analysis.totals.backward.matrix_flops.value());
  return out;
}

void ExpectAgreesWithGraphs(bool frozen) {
  for (uint32_t seed = 0; seed < kGraphModels; ++seed) {
    SCOPED_TRACE(seed);
    RandomModels random(seed, {.windows = false, .frozen = frozen});
    const ArchitectureSpec spec = random.Model();
    const bool two_stacks = !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
    const GraphBatch batch = {.count = random.Between(1, 2),
                              .length = random.Between(1, 4),
                              .encoder_length = two_stacks ? random.Between(1, 4) : 0};
    const GraphWriter graph = ModelGraph(spec, batch);
    const auto analysis = AnalyzeGraph(graph.spec());
    ASSERT_THAT(analysis, IsOk());
    const auto flops =
        CountStepOf(spec, {.sequences = {{batch.count, batch.length, batch.encoder_length}}},
                    FlopsDetail::kTotals);
    ASSERT_THAT(flops, IsOk());
    const auto count = CountArchitecture(spec, "");
    ASSERT_THAT(count, IsOk());

    EXPECT_EQ(count->all.total,
              analysis->totals.trainable_parameters + analysis->totals.frozen_parameters);
    EXPECT_EQ(count->all.trainable, analysis->totals.trainable_parameters);
    const PassFlops step = flops->PerStep(MaskConvention::kFull);
    const GraphFlops expect = ProductsOf(graph, *analysis);
    EXPECT_NEAR(step.forward.value(), expect.forward, 1e-9 * expect.forward);
    EXPECT_NEAR(step.input_gradient.value(), expect.input_gradient, 1e-9 * expect.forward);
    EXPECT_NEAR(step.weight_gradient.value(), expect.weight_gradient, 1e-9 * expect.forward);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(FlopsOracle, AgreesWithAGraphOfOperations) {
  ExpectAgreesWithGraphs(false);
  ExpectAgreesWithGraphs(true);
}

}  // namespace
}  // namespace sextant
