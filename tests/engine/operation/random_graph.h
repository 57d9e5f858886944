// Random graphs of small tensors, with fan-out, shared and frozen parameters, branches that
// lead nowhere, several losses and checkpointed segments.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/operation/graph.h"

namespace sextant {

class RandomGraphs {
 public:
  explicit RandomGraphs(uint32_t seed) : random_(seed) {}

  // Without row functions: linear, einsum, sums and elementwise operations whose FLOPs are plain
  // multiplications and additions. With them: softmax, RMSNorm, relu and dropout too, and tensors
  // in several formats.
  GraphSpec Next(bool with_row_functions);
  // The shapes of all tensors of the last graph.
  const std::map<std::string, Shape>& shapes() const { return shapes_; }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  DataType AnyType();
  // The name of a tensor of `shape`: one that is there, or a new parameter or input.
  std::string Tensor(const Shape& shape);
  std::string AnyTensor();
  void Add(Operation operation, std::vector<std::string> inputs, Shape output);
  void AddOne();
  void AddEinsum();
  void AddRowFunction();
  void NameLosses();
  void NameSegments();

  std::mt19937 random_;
  bool with_row_functions_ = false;
  GraphSpec spec_;
  std::vector<std::string> names_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, bool> wants_gradient_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_
