// Random graphs of small tensors, with fan-out, shared and frozen parameters, branches that
// lead nowhere, several losses and checkpointed segments.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/operation/graph.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {

class RandomGraphs {
 public:
  explicit RandomGraphs(uint32_t seed) : random_(seed) {}

  // Without row functions: linear, einsum, sums and elementwise operations whose FLOPs are plain
  // multiplications and additions. With them: softmax, RMSNorm, relu and dropout too, and tensors
  // in several formats.
  GraphSpec Next(bool with_row_functions) {
    with_row_functions_ = with_row_functions;
    spec_ = {.data_type = DataType::kFp32};
    names_.clear();
    shapes_.clear();
    wants_gradient_.clear();
    const int64_t count = 1 + Below(12);
    while (static_cast<int64_t>(spec_.operations.size()) < count) AddOne();
    NameLosses();
    NameSegments();
    return spec_;
  }
  // The shapes of all tensors of the last graph.
  const std::map<std::string, Shape>& shapes() const { return shapes_; }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  DataType AnyType() {
    if (!with_row_functions_ || Below(3) != 0) return DataType::kUnspecified;
    return Below(2) == 0 ? DataType::kBf16 : DataType::kFp64;
  }
  // The name of a tensor of `shape`: one that is there, or a new parameter or input.
  std::string Tensor(const Shape& shape) {
    std::vector<std::string> fitting;
    for (const std::string& name : names_) {
      if (shapes_[name] == shape) fitting.push_back(name);
    }
    if (!fitting.empty() && Below(3) != 0) {
      return fitting[static_cast<size_t>(Below(static_cast<int64_t>(fitting.size())))];
    }
    const std::string name = absl::StrCat("given ", spec_.tensors.size());
    GraphTensor tensor = {.name = name, .shape = shape, .data_type = AnyType()};
    tensor.parameter = Below(2) == 0;
    tensor.frozen = tensor.parameter && Below(4) == 0;
    tensor.requires_gradient = !tensor.parameter && Below(4) == 0;
    wants_gradient_[name] = (tensor.parameter && !tensor.frozen) || tensor.requires_gradient;
    spec_.tensors.push_back(tensor);
    names_.push_back(name);
    shapes_[name] = shape;
    return name;
  }
  std::string AnyTensor() {
    if (names_.empty() || Below(6) == 0) return Tensor({1 + Below(3), 1 + Below(3)});
    // Later ones more often, so that graphs get deep.
    const auto n = static_cast<int64_t>(names_.size());
    return names_[static_cast<size_t>(std::max(Below(n), Below(n)))];
  }
  void Add(Operation operation, std::vector<std::string> inputs, Shape output) {
    const std::string name = absl::StrCat("made ", spec_.operations.size());
    wants_gradient_[name] = std::any_of(
        inputs.begin(), inputs.end(), [this](const auto& input) { return wants_gradient_[input]; });
    GraphOperation op = Make(name, std::move(operation), std::move(inputs));
    op.output_data_type = AnyType();
    spec_.operations.push_back(std::move(op));
    names_.push_back(name);
    shapes_[name] = std::move(output);
  }
  void AddOne() {
    const std::string x = AnyTensor();
    const Shape shape = shapes_[x];
    const int64_t kind = Below(with_row_functions_ ? 11 : 8);
    if (kind == 0) return Add(Plain(ElementwiseFunction::kSquare), {x}, shape);
    if (kind == 1) return Add(Plain(ElementwiseFunction::kScale), {x}, shape);
    if (kind == 2) return Add(Plain(ElementwiseFunction::kMultiply), {x, Tensor(shape)}, shape);
    if (kind == 3) {
      std::vector<std::string> inputs = {x, Tensor(shape)};
      if (Below(3) == 0) inputs.push_back(Tensor(shape));
      return Add(Plain(ElementwiseFunction::kAdd), std::move(inputs), shape);
    }
    if (shape.size() < 2) return;
    if (kind == 4) return AddEinsum();
    if (kind == 5) return Add(Reduction{}, {x}, Shape(shape.begin(), shape.end() - 1));
    if (kind == 6) {
      const std::string name = absl::StrCat("made ", spec_.operations.size());
      spec_.operations.push_back(Rearranged(name, "a b -> b a", x));
      wants_gradient_[name] = wants_gradient_[x];
      names_.push_back(name);
      shapes_[name] = {shape[1], shape[0]};
      return;
    }
    if (kind > 7) return AddRowFunction();
    const int64_t width = 1 + Below(3);
    std::vector<std::string> inputs = {x, Tensor({shape[1], width})};
    if (Below(2) == 0) inputs.push_back(Tensor({width}));
    Add(Linear{}, std::move(inputs), {shape[0], width});
  }
  void AddEinsum() {
    const std::string a = AnyTensor();
    if (shapes_[a].size() != 2) return;
    const int64_t i = shapes_[a][0];
    const int64_t j = shapes_[a][1];
    const int64_t k = 1 + Below(3);
    switch (Below(6)) {
      case 0:
        return Add(Einsum{.expression = "i j, j k -> i k"}, {a, Tensor({j, k})}, {i, k});
      case 1:
        return Add(Einsum{.expression = "i j, i k -> j k"}, {a, Tensor({i, k})}, {j, k});
      case 2:
        return Add(Einsum{.expression = "i j, i j -> i"}, {a, Tensor({i, j})}, {i});
      case 3:
        return Add(Einsum{.expression = "i j, k -> i k"}, {a, Tensor({k})}, {i, k});
      case 4:
        return Add(Einsum{.expression = "i j, i -> j i"}, {a, Tensor({i})}, {j, i});
      default:
        return Add(Einsum{.expression = "i j -> j"}, {a}, {j});
    }
  }
  void AddRowFunction() {
    const std::string x = AnyTensor();
    const Shape shape = shapes_[x];
    if (shape.size() < 2) return;
    switch (Below(4)) {
      case 0:
        return Add(Softmax{}, {x}, shape);
      case 1:
        return Add(RmsNorm{}, {x, Tensor({shape[1]})}, shape);
      case 2:
        return Add(Activation{}, {x}, shape);
      default:
        return Add(Dropout{}, {x}, shape);
    }
  }
  void NameLosses() {
    if (Below(2) == 0) return;
    for (const GraphOperation& op : spec_.operations) {
      if (wants_gradient_[op.output] && Below(4) == 0) spec_.losses.push_back(op.output);
    }
  }
  void NameSegments() {
    spec_.extent =
        Below(2) == 0 ? RecomputeExtent::kWholeSegment : RecomputeExtent::kUntilLastNeeded;
    int64_t number = 0;
    for (size_t i = 0; i < spec_.operations.size();) {
      const auto end = std::min(spec_.operations.size(), i + 1 + static_cast<size_t>(Below(4)));
      const std::string segment = Below(3) == 0 ? "" : absl::StrCat("segment ", ++number);
      for (; i < end; ++i) spec_.operations[i].segment = segment;
      if (!segment.empty() && Below(3) != 0) spec_.checkpointed_segments.push_back(segment);
    }
  }

  std::mt19937 random_;
  bool with_row_functions_ = false;
  GraphSpec spec_;
  std::vector<std::string> names_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, bool> wants_gradient_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_RANDOM_GRAPH_H_
