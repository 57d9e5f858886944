#include "tests/engine/model/flops/graph_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/operation/graphs.h"

namespace sextant {

std::string GraphWriter::NewName() { return absl::StrCat("t", made_++); }

std::string GraphWriter::Parameter(const std::string& name, const Shape& shape, bool frozen) {
  if (!parameters_.insert(name).second) return name;
  if (shape.size() == 1) vectors_.insert(name);
  GraphTensor tensor = ParameterOf(name, shape);
  tensor.frozen = frozen;
  spec_.tensors.push_back(tensor);
  return name;
}

std::string GraphWriter::Ids(const Shape& shape) {
  spec_.tensors.push_back(IdsOf(NewName(), shape));
  return spec_.tensors.back().name;
}

std::string GraphWriter::Do(Operation operation, std::vector<std::string> inputs) {
  spec_.operations.push_back(Make(NewName(), std::move(operation), std::move(inputs)));
  return spec_.operations.back().output;
}

std::string GraphWriter::Rearrange(const std::string& x, const std::string& expression,
                                   std::vector<AxisSize> sizes) {
  spec_.operations.push_back(Rearranged(NewName(), expression, x, std::move(sizes)));
  return spec_.operations.back().output;
}

std::string GraphWriter::Add(const std::string& x, const std::string& y) {
  return Do(Elementwise{.input_count = 2, .function = ElementwiseFunction::kAdd}, {x, y});
}

std::string GraphWriter::Multiply(const std::string& x, const std::string& y) {
  return Do(Elementwise{.input_count = 2, .function = ElementwiseFunction::kMultiply}, {x, y});
}

std::string GraphWriter::Activate(const std::string& x) {
  return Do(Activation{.function = ActivationFunction::kSilu}, {x});
}

std::string GraphWriter::Project(const std::string& x, const std::string& weight) {
  return Do(Linear{}, {x, weight});
}

std::string GraphWriter::Einsum(const std::string& expression, std::vector<std::string> inputs) {
  return Do(sextant::Einsum{.expression = expression}, std::move(inputs));
}

std::string GraphWriter::Lookup(const Shape& ids, const std::string& table) {
  return Do(EmbeddingLookup{}, {Ids(ids), table});
}

std::string GraphWriter::Columns(const std::string& x, int64_t count) {
  const std::string gathered = Lookup({count}, Rearrange(x, "t f -> f t"));
  return Rearrange(gathered, "f t -> t f");
}

}  // namespace sextant
