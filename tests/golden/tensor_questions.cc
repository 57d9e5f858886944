#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/einsum.h"
#include "engine/tensor/expression/tensor_analysis.h"
#include "tests/golden/textbook_questions.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

Shape ShapeFrom(const json& sizes) {
  Shape shape;
  for (const json& size : sizes) shape.push_back(size);
  return shape;
}

json JsonFrom(const Shape& shape) {
  json out = json::array();
  for (const int64_t size : shape) out.push_back(size);
  return out;
}

StridedTensor Fp32(const Shape& shape) { return ContiguousTensor(shape, DataType::kFp32); }

json RearrangedShape(const json& in) {
  std::vector<AxisSize> sizes;
  if (in.contains("axes")) {
    for (const auto& [name, size] : in["axes"].items()) sizes.push_back({name, size});
  }
  const std::string expression = in["expr"];
  const auto result = Rearrange(Fp32(ShapeFrom(in["shape"])), expression, sizes);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? JsonFrom(result->tensor.shape) : json();
}

json ReducedShape(const json& in) {
  const std::string expression = in["expr"];
  const auto result = Reduce(Fp32(ShapeFrom(in["shape"])), expression, {}, ReductionKind::kSum);
  EXPECT_THAT(result, IsOk());
  return result.ok() ? JsonFrom(result->tensor.shape) : json();
}

absl::StatusOr<EinsumCost> Scores(const json& in) {
  std::vector<Shape> shapes;
  for (const json& shape : in["shapes"]) shapes.push_back(ShapeFrom(shape));
  const auto cost = EinsumCostOf("batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2", shapes);
  EXPECT_THAT(cost, IsOk());
  return cost;
}

json FlatIndexOf(const json& in) {
  StridedTensor tensor = Fp32(ShapeFrom(in["shape"]));
  EXPECT_EQ(JsonFrom(tensor.strides), in["strides"]);
  const auto position = FlatIndex(tensor, ShapeFrom(in["index"]));
  EXPECT_THAT(position, IsOk());
  return position.ok() ? json(*position) : json();
}

// Bytes that all `steps` on an fp32 tensor allocate, and the tensor that they end with.
json AllocatedBytes(const Shape& shape, const std::vector<TensorAction>& steps,
                    StridedTensor* last = nullptr) {
  const auto analysis = AnalyzeTensor(Fp32(shape), steps);
  EXPECT_THAT(analysis, IsOk());
  if (!analysis.ok()) return json();
  if (last != nullptr) *last = analysis->results.back().step.tensor;
  return analysis->allocated.value();
}

json TransposedBytes(const json&) {
  StridedTensor transposed;
  const json bytes = AllocatedBytes({2, 3}, {TransposeStep{1, 0}}, &transposed);
  EXPECT_FALSE(IsContiguous(transposed));
  return bytes;
}

ShapeCheck Checked(const json& in) {
  const std::string expression = in["axes"];
  const auto check = CheckDeclaredShape(expression, ShapeFrom(in["shape"]), {});
  EXPECT_THAT(check, IsOk());
  if (!check.ok()) return {};
  return *check;
}

json BoundSizes(const json& in) {
  json out;
  for (const AxisSize& axis : Checked(in).bindings.sizes) out[axis.name] = axis.size;
  return out;
}

json Mismatch(const json& in, const char* says) {
  const ShapeCheck check = Checked(in);
  EXPECT_THAT(check.mismatches, ::testing::ElementsAre(says));
  return check.matches;
}

}  // namespace

TextbookQuestions TensorQuestions() {
  return {
      {"rearrange-split-heads", RearrangedShape},
      {"rearrange-merge", RearrangedShape},
      {"reduce-sum", ReducedShape},
      {"einsum-scores-shape", [](const json& in) { return JsonFrom(Scores(in)->shape); }},
      {"einsum-scores-flops", [](const json& in) { return json(Scores(in)->best.flops.value()); }},
      {"stride-index", FlatIndexOf},
      {"slice-row-is-view",
       [](const json&) {
         return AllocatedBytes({2, 3}, {SelectStep{.axis = 0, .index = 0}});
       }},
      {"transpose-is-view", TransposedBytes},
      {"transpose-contiguous-copies",
       [](const json&) {
         return AllocatedBytes({2, 3}, {TransposeStep{1, 0}, ContiguousStep{}});
       }},
      {"elementwise-allocates",
       [](const json&) {
         return AllocatedBytes({4, 8}, {ElementwiseStep{"add"}});
       }},
      {"triu-allocates",
       [](const json&) {
         return AllocatedBytes({3, 3}, {ElementwiseStep{"triu"}});
       }},
      {"check-shape-named-axes", BoundSizes},
      {"check-shape-rank-mismatch",
       [](const json& in) { return Mismatch(in, "3 axes declared, the tensor has 4"); }},
      {"check-shape-repeated-axis",
       [](const json& in) { return Mismatch(in, "'seq' is bound to 3 and to 4"); }},
  };
}

}  // namespace sextant
