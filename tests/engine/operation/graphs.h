// Graphs for tests, written shortly.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_

#include <string>
#include <utility>
#include <vector>

#include "engine/operation/graph.h"

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

// x [rows, width], named h0, through layers h1, h2, ... of weights w1, w2, ... [width, width],
// without bias, in fp32.
GraphSpec DeepLinear(int layers, int64_t rows, int64_t width);

// The answer, which is expected to be one.
GraphAnalysis Analyzed(const GraphSpec& spec);

std::vector<std::string> SavedNames(const GraphMemory& memory);

// The ledger at the peak and the list of what is saved have the sums that are stated.
void ExpectAddsUp(const GraphMemory& memory);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_GRAPHS_H_
