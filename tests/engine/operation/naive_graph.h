// A naive autograd: it runs a graph's operations forward and backward in loops over numbers
// that count each multiplication and addition, and notes what the backward pass reads. It knows
// of engine/operation only the specs.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engine/operation/graph.h"
#include "tests/engine/operation/naive.h"

namespace sextant::naive {

struct NaiveTensor {
  Shape shape;
  std::vector<double> data;
};

// An axis is a letter.
struct Lettered {
  const NaiveTensor* tensor;
  std::string axes;
};

constexpr double kScale = 0.5;

inline NaiveTensor Zeros(const Shape& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  return {shape, std::vector<double>(count, 0)};
}

inline NaiveTensor Filled(const Shape& shape, double seed) {
  NaiveTensor out = Zeros(shape);
  for (size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = std::sin(seed + 1.3 * static_cast<double>(i));
  }
  return out;
}

using Place = std::map<char, int64_t>;

inline size_t At(const Lettered& lettered, const Place& place) {
  int64_t at = 0;
  for (size_t i = 0; i < lettered.axes.size(); ++i) {
    at = at * lettered.tensor->shape[i] + place.at(lettered.axes[i]);
  }
  return static_cast<size_t>(at);
}

// Calls `visit` at each index of all axes in `sizes`.
template <typename Visit>
inline void ForEach(const Place& sizes, Visit visit) {
  Place place;
  for (const auto& [axis, size] : sizes) place[axis] = 0;
  bool more = true;
  while (more) {
    visit(place);
    more = false;
    for (auto& [axis, index] : place) {
      if (++index < sizes.at(axis)) {
        more = true;
        break;
      }
      index = 0;
    }
  }
}

inline Place SizesOf(const std::vector<Lettered>& parts) {
  Place sizes;
  for (const Lettered& part : parts) {
    for (size_t i = 0; i < part.axes.size(); ++i) sizes[part.axes[i]] = part.tensor->shape[i];
  }
  return sizes;
}

// The product of all parts, added up where an axis is not in `axes`; the same along axes of
// `shape` that no part has.
inline NaiveTensor Contract(const std::vector<Lettered>& parts, const std::string& axes,
                            const Shape& shape) {
  const Place sizes = SizesOf(parts);
  Place known = sizes;
  for (size_t i = 0; i < axes.size(); ++i) known[axes[i]] = shape[i];
  NaiveTensor out = Zeros(shape);
  const Lettered target = {&out, axes};
  const bool sums = std::any_of(sizes.begin(), sizes.end(), [&axes](const auto& axis) {
    return axes.find(axis.first) == std::string::npos;
  });
  ForEach(sizes, [&](const Place& place) {
    Number product = parts[0].tensor->data[At(parts[0], place)];
    for (size_t i = 1; i < parts.size(); ++i) {
      product = product * Number(parts[i].tensor->data[At(parts[i], place)]);
    }
    Place first = place;
    for (const char axis : axes) first.emplace(axis, 0);
    double& sum = out.data[At(target, first)];
    sum = (sums ? Number(sum) + product : product).value();
  });
  // Copies, which are free.
  NaiveTensor whole = out;
  ForEach(known, [&](const Place& place) {
    Place first = place;
    for (const char axis : axes) {
      if (sizes.count(axis) == 0) first[axis] = 0;
    }
    whole.data[At({&whole, axes}, place)] = out.data[At(target, first)];
  });
  return whole;
}

// "i j, j k -> i k" as {"ij", "jk", "ik"}.
inline std::vector<std::string> AxesOf(const GraphOperation& op) {
  if (std::holds_alternative<Rearrangement>(op.work)) return {"ab", "ba"};
  const auto& operation = std::get<Operation>(op.work);
  if (const auto* einsum = std::get_if<Einsum>(&operation)) {
    const std::string text = absl::StrReplaceAll(einsum->expression, {{" -> ", ","}, {" ", ""}});
    return absl::StrSplit(text, ',');
  }
  if (std::holds_alternative<Linear>(operation)) return {"ij", "jk", "ik"};
  if (std::holds_alternative<Reduction>(operation)) return {"ij", "i"};
  return {};
}

inline const Elementwise* AsElementwise(const GraphOperation& op) {
  const auto* operation = std::get_if<Operation>(&op.work);
  return operation == nullptr ? nullptr : std::get_if<Elementwise>(operation);
}

inline Number Applied(ElementwiseFunction function, Number a, Number b) {
  switch (function) {
    case ElementwiseFunction::kAdd:
      return a + b;
    case ElementwiseFunction::kMultiply:
      return a * b;
    case ElementwiseFunction::kSquare:
      return a * a;
    default:
      return Number(kScale) * a;
  }
}

class NaiveGraph {
 public:
  // `spec` has only operations that RandomGraphs makes without row functions.
  explicit NaiveGraph(const GraphSpec& spec) : spec_(spec) {
    double seed = 0;
    for (const GraphTensor& tensor : spec.tensors) {
      values[tensor.name] = Filled(tensor.shape, seed += 1);
      base[tensor.name] = tensor.name;
      if ((tensor.parameter && !tensor.frozen) || tensor.requires_gradient) {
        wants_.insert(tensor.name);
      }
    }
    std::set<std::string> read;
    for (const GraphOperation& op : spec.operations) {
      const std::string& made = op.output;
      read.insert(op.inputs.begin(), op.inputs.end());
      base[made] = std::holds_alternative<Rearrangement>(op.work) ? base[op.inputs[0]] : made;
      for (const std::string& input : op.inputs) {
        if (Wants(input)) wants_.insert(made);
      }
    }
    Forward();
    for (const GraphOperation& op : spec.operations) {
      const std::string& made = op.output;
      const bool is_loss = spec.losses.empty()
                               ? read.count(made) == 0 && Wants(made)
                               : std::count(spec.losses.begin(), spec.losses.end(), made) > 0;
      if (is_loss) loss_gradients_[made] = Filled(values[made].shape, seed += 1);
    }
  }

  void Forward() {
    Counted() = {};
    for (const GraphOperation& op : spec_.operations) RunForward(op);
    forward_operations = Counted().plain;
  }
  void Backward() {
    Counted() = {};
    for (const auto& [name, gradient] : loss_gradients_) Arrive(name, gradient);
    for (auto op = spec_.operations.rbegin(); op != spec_.operations.rend(); ++op) {
      if (gradients.count(op->output) > 0) RunBackward(*op);
    }
    backward_operations = Counted().plain - additions_of_gradients;
  }
  // The sum of all losses times their gradients.
  double Loss() const {
    double loss = 0;
    for (const auto& [name, gradient] : loss_gradients_) {
      for (size_t i = 0; i < gradient.data.size(); ++i) {
        loss += gradient.data[i] * values.at(name).data[i];
      }
    }
    return loss;
  }

  std::map<std::string, NaiveTensor> values;
  std::map<std::string, NaiveTensor> gradients;  // of what has one
  std::map<std::string, std::string> base;       // of a view: whose storage it has
  std::set<std::string> read_backward;           // tensors that the backward pass reads
  std::map<std::string, int64_t> gradient_counts;
  double forward_operations = 0;
  double backward_operations = 0;   // without additions of gradients of one tensor
  double parameter_operations = 0;  // of those, for parameters' gradients, views' among them
  double additions_of_gradients = 0;

 private:
  void RunForward(const GraphOperation& op) {
    NaiveTensor& made = values[op.output];
    const NaiveTensor& x = values[op.inputs[0]];
    if (const Elementwise* elementwise = AsElementwise(op)) {
      made = x;
      const bool one = op.inputs.size() == 1;
      for (size_t i = 0; i < x.data.size(); ++i) {
        Number sum = one ? Applied(elementwise->function, x.data[i], 0) : Number(x.data[i]);
        for (size_t k = 1; k < op.inputs.size(); ++k) {
          sum = Applied(elementwise->function, sum, values[op.inputs[k]].data[i]);
        }
        made.data[i] = sum.value();
      }
      return;
    }
    const std::vector<std::string> axes = AxesOf(op);
    std::vector<Lettered> parts;
    for (size_t k = 0; k + 1 < axes.size(); ++k) parts.push_back({&values[op.inputs[k]], axes[k]});
    Place sizes = SizesOf(parts);
    Shape shape;
    for (const char axis : axes.back()) shape.push_back(sizes[axis]);
    NaiveTensor result = Contract(parts, axes.back(), shape);
    if (axes.size() == op.inputs.size()) {  // a linear layer's bias
      const NaiveTensor& bias = values[op.inputs[2]];
      for (size_t i = 0; i < result.data.size(); ++i) {
        result.data[i] = (Number(result.data[i]) + bias.data[i % bias.data.size()]).value();
      }
    }
    made = result;
  }
  void RunBackward(const GraphOperation& op) {
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      if (!Wants(op.inputs[k])) continue;
      const double before = Counted().plain;
      const NaiveTensor gradient = GradientOf(op, k);
      if (IsParameter(base[op.inputs[k]])) parameter_operations += Counted().plain - before;
      Arrive(op.inputs[k], gradient);
    }
  }
  NaiveTensor GradientOf(const GraphOperation& op, size_t operand) {
    const NaiveTensor& dy = gradients[op.output];
    const Shape& shape = values[op.inputs[operand]].shape;
    if (const Elementwise* elementwise = AsElementwise(op)) {
      NaiveTensor out = dy;
      for (size_t i = 0; i < dy.data.size(); ++i) {
        const Number d = dy.data[i];
        if (elementwise->function == ElementwiseFunction::kMultiply) {
          out.data[i] = (d * Saved(op.inputs[1 - operand]).data[i]).value();
        } else if (elementwise->function == ElementwiseFunction::kSquare) {
          out.data[i] = (Number(2) * Saved(op.inputs[0]).data[i] * d).value();
        } else if (elementwise->function == ElementwiseFunction::kScale) {
          out.data[i] = (Number(kScale) * d).value();
        }
      }
      return out;
    }
    const std::vector<std::string> axes = AxesOf(op);
    const std::vector<Lettered> given = {{&dy, axes.back()}};
    if (operand + 1 == axes.size()) return Contract(given, axes.back().substr(1), shape);  // bias
    std::vector<Lettered> parts = given;
    for (size_t k = 0; k + 1 < axes.size(); ++k) {
      if (k != operand) parts.push_back({&Saved(op.inputs[k]), axes[k]});
    }
    return Contract(parts, axes[operand], shape);
  }
  const NaiveTensor& Saved(const std::string& name) {
    read_backward.insert(base[name]);
    return values[name];
  }
  void Arrive(const std::string& name, const NaiveTensor& gradient) {
    ++gradient_counts[name];
    const auto [place, is_first] = gradients.try_emplace(name, gradient);
    if (is_first) return;
    const double before = Counted().plain;
    for (size_t i = 0; i < gradient.data.size(); ++i) {
      place->second.data[i] = (Number(place->second.data[i]) + gradient.data[i]).value();
    }
    additions_of_gradients += Counted().plain - before;
  }
  bool IsParameter(const std::string& name) const {
    return std::any_of(spec_.tensors.begin(), spec_.tensors.end(), [&name](const auto& tensor) {
      return tensor.name == name && tensor.parameter;
    });
  }
  bool Wants(const std::string& name) const { return wants_.count(name) > 0; }

  const GraphSpec& spec_;
  std::set<std::string> wants_;
  std::map<std::string, NaiveTensor> loss_gradients_;
};

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_GRAPH_H_
