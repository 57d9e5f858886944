// Random graphs against a naive autograd, whose own gradients are proved by differences, and
// against a step that allocates and frees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/operation/graph.h"
#include "tests/engine/operation/graphs.h"
#include "tests/engine/operation/naive_graph.h"
#include "tests/engine/operation/naive_memory.h"
#include "tests/engine/operation/random_graph.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::NaiveGraph;

bool IsParameter(const GraphSpec& spec, const std::string& name) {
  for (const GraphTensor& tensor : spec.tensors) {
    if (tensor.name == name) return tensor.parameter;
  }
  return false;
}

void ExpectAnswered(const GraphSpec& spec) {
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk()) << analysis.status();
  NaiveGraph naive(spec);
  naive.Backward();
  EXPECT_EQ(analysis->totals.forward.flops().value(), naive.forward_operations);
  EXPECT_EQ(analysis->totals.backward.flops().value(), naive.backward_operations);
  EXPECT_EQ(analysis->totals.accumulation.flops().value(), naive.additions_of_gradients);
  EXPECT_EQ(analysis->totals.backward_parameter_flops.value(), naive.parameter_operations);
  EXPECT_EQ(analysis->totals.backward_input_flops + analysis->totals.backward_parameter_flops,
            analysis->totals.backward.flops());
  int64_t gradient_bytes = 0;
  for (const GraphTensorRow& row : analysis->tensors) {
    EXPECT_EQ(row.has_gradient, naive.gradients.count(row.name) > 0) << row.name;
    EXPECT_EQ(row.gradient_count, naive.gradient_counts[row.name]) << row.name;
    EXPECT_EQ(row.array.shape, naive.values[row.name].shape) << row.name;
    EXPECT_EQ(row.view_of.empty() ? row.name : row.view_of, naive.base[row.name]);
    if (row.kind == GraphTensorKind::kParameter && row.has_gradient) {
      gradient_bytes += 4 * static_cast<int64_t>(naive.values[row.name].data.size());
    }
  }
  EXPECT_EQ(analysis->totals.gradient_bytes.value(), gradient_bytes);
  std::set<std::string> saved;
  for (const SavedStorage& one : analysis->memory.saved) saved.insert(one.storage.name);
  std::set<std::string> read;
  for (const std::string& name : naive.read_backward) {
    if (!IsParameter(spec, name)) read.insert(name);
  }
  EXPECT_EQ(saved, read);
}

TEST(GraphOracle, FlopsAndGradientsAreThoseOfANaiveAutograd) {
  RandomGraphs random(45);
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    ExpectAnswered(random.Next(false));
    if (::testing::Test::HasFailure()) return;
  }
}

// The fewest graphs that make the test above worth anything: all these things do occur.
TEST(GraphOracle, GraphsHaveWhatIsToBeTested) {
  RandomGraphs random(45);
  int fan_outs = 0;
  int frozen = 0;
  int dead = 0;
  int inputs = 0;
  int views = 0;
  for (int i = 0; i < 600; ++i) {
    const auto analysis = AnalyzeGraph(random.Next(false));
    ASSERT_THAT(analysis, IsOk());
    fan_outs += analysis->totals.accumulation_count > 0 ? 1 : 0;
    frozen += analysis->totals.frozen_parameters > 0 ? 1 : 0;
    dead += analysis->totals.parameters_without_gradient > 0 ? 1 : 0;
    for (const GraphTensorRow& row : analysis->tensors) {
      inputs += row.kind == GraphTensorKind::kInput && row.has_gradient ? 1 : 0;
      views += row.view_of.empty() ? 0 : 1;
    }
  }
  for (const int count : {fan_outs, frozen, dead, inputs, views}) EXPECT_GT(count, 50);
}

void ExpectTrueGradients(const GraphSpec& spec) {
  constexpr double kStep = 1e-5;
  NaiveGraph naive(spec);
  naive.Backward();
  for (const GraphTensor& tensor : spec.tensors) {
    if (naive.gradients.count(tensor.name) == 0) continue;
    std::vector<double>& data = naive.values[tensor.name].data;
    for (size_t i = 0; i < data.size(); ++i) {
      const double kept = data[i];
      data[i] = kept + kStep;
      naive.Forward();
      const double above = naive.Loss();
      data[i] = kept - kStep;
      naive.Forward();
      const double difference = (above - naive.Loss()) / (2 * kStep);
      data[i] = kept;
      const double scale = 1 + std::abs(difference) + std::abs(above);
      EXPECT_NEAR(naive.gradients[tensor.name].data[i], difference, 1e-5 * scale) << tensor.name;
    }
  }
}

TEST(GraphOracle, TheNaiveAutogradsGradientsAreTrue) {
  RandomGraphs random(45);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    ExpectTrueGradients(random.Next(false));
    if (::testing::Test::HasFailure()) return;
  }
}

void ExpectMemory(const GraphMemory& memory, const naive::MemoryTally& tally) {
  EXPECT_EQ(memory.peak_bytes.value(), tally.peak_bytes);
  EXPECT_EQ(memory.peak_moment, tally.peak_moment);
  EXPECT_EQ(memory.saved_bytes.value(), tally.saved_bytes);
  EXPECT_EQ(memory.recomputed_operations, tally.recomputed_operations);
  int64_t at_peak = 0;
  for (const GraphStorage& storage : memory.at_peak) at_peak += storage.size.value();
  EXPECT_EQ(at_peak, memory.peak_bytes.value());
}

TEST(GraphMemoryOracle, PeaksAreThoseOfAStepThatAllocatesAndFrees) {
  RandomGraphs random(46);
  int checkpointed = 0;
  for (int i = 0; i < 800; ++i) {
    SCOPED_TRACE(i);
    GraphSpec spec = random.Next(true);
    spec.master_weights = i % 2 == 0;
    const auto analysis = AnalyzeGraph(spec);
    ASSERT_THAT(analysis, IsOk()) << analysis.status();
    ExpectMemory(analysis->memory, naive::SimulateStep(spec, random.shapes(), false));
    if (analysis->checkpointed.has_value()) {
      checkpointed += analysis->checkpointed->recomputed_operations > 0 ? 1 : 0;
      ExpectMemory(*analysis->checkpointed, naive::SimulateStep(spec, random.shapes(), true));
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checkpointed, 200);
}

}  // namespace
}  // namespace sextant
