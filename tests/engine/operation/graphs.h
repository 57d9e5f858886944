// Graphs for tests, written shortly.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operation/graph.h"
#include "tests/support/status_matchers.h"

namespace sextant {

inline GraphTensor InputOf(std::string name, Shape shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}

inline GraphTensor ParameterOf(std::string name, Shape shape) {
  return {.name = std::move(name), .shape = std::move(shape), .parameter = true};
}

inline GraphTensor IdsOf(std::string name, Shape shape, int64_t index_bytes = 8) {
  return {.name = std::move(name), .shape = std::move(shape), .index_bytes = index_bytes};
}

// An operation that is named as what it makes.
inline GraphOperation Make(std::string output, Operation operation,
                           std::vector<std::string> inputs) {
  return {
      .name = output, .work = std::move(operation), .inputs = std::move(inputs), .output = output};
}

inline GraphOperation Rearranged(std::string output, std::string expression, std::string input,
                                 std::vector<AxisSize> sizes = {}) {
  return {.name = output,
          .work = Rearrangement{.expression = std::move(expression), .sizes = std::move(sizes)},
          .inputs = {std::move(input)},
          .output = output};
}

inline Elementwise Plain(ElementwiseFunction function) { return {.function = function}; }

// The answer, which is expected to be one.
inline GraphAnalysis Analyzed(const GraphSpec& spec) {
  const auto analysis = AnalyzeGraph(spec);
  EXPECT_THAT(analysis, IsOk()) << analysis.status();
  return analysis.ok() ? *analysis : GraphAnalysis();
}

inline std::vector<std::string> SavedNames(const GraphMemory& memory) {
  std::vector<std::string> names;
  for (const SavedStorage& saved : memory.saved) names.push_back(saved.storage.name);
  return names;
}

// The ledger at the peak and the list of what is saved have the sums that are stated.
inline void ExpectAddsUp(const GraphMemory& memory) {
  int64_t at_peak = 0;
  for (const GraphStorage& storage : memory.at_peak) at_peak += storage.size.value();
  EXPECT_EQ(at_peak, memory.peak_bytes.value());
  int64_t saved = 0;
  for (const SavedStorage& one : memory.saved) saved += one.storage.size.value();
  EXPECT_EQ(saved, memory.saved_bytes.value());
}

// x [rows, width], named h0, through layers h1, h2, ... of weights w1, w2, ... [width, width],
// without bias, in fp32.
inline GraphSpec DeepLinear(int layers, int64_t rows, int64_t width) {
  GraphSpec spec = {.tensors = {InputOf("h0", {rows, width})}, .data_type = DataType::kFp32};
  for (int i = 1; i <= layers; ++i) {
    const std::string w = absl::StrCat("w", i);
    spec.tensors.push_back(ParameterOf(w, {width, width}));
    spec.operations.push_back(Make(absl::StrCat("h", i), Linear{}, {absl::StrCat("h", i - 1), w}));
  }
  return spec;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_
