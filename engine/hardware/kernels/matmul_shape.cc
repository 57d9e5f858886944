#include "engine/hardware/kernels/matmul_shape.h"

#include <algorithm>
#include <array>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

struct NamedType {
  absl::string_view name;
  MatmulType type;
};

constexpr std::array<NamedType, 5> kNames = {{
    {"bf16", {DataType::kBf16, MatmulScaling::kNone}},
    {"fp8", {DataType::kFp8E4m3, MatmulScaling::kTensor}},
    {"fp8_block", {DataType::kFp8E4m3, MatmulScaling::kBlock}},
    {"nvfp4", {DataType::kNvfp4, MatmulScaling::kBlock}},
    {"int8", {DataType::kInt8, MatmulScaling::kTensor}},
}};

// A multiple of the blocks of every block format.
constexpr int64_t kElements = 1024;

double LocalExperts(const GroupedMatmulShape& shape) {
  return static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
}

double WeightsPerExpert(const GroupedMatmulShape& shape) {
  return (shape.gated ? 3 : 2) * static_cast<double>(shape.hidden) *
         static_cast<double>(shape.intermediate);
}

}  // namespace

MatmulShape StackedMatmul(const MatmulBatch& matmul) {
  MatmulShape out = matmul.each;
  const int64_t most = kMaxKernelSize / std::max<int64_t>(matmul.batch, 1);
  out.m = out.m > most ? kMaxKernelSize : out.m * matmul.batch;
  return out;
}

MatmulType MatmulTypeNamed(absl::string_view name) {
  for (const NamedType& known : kNames) {
    if (known.name == name) return known.type;
  }
  return {};
}

absl::string_view MatmulTypeName(MatmulType type) {
  for (const NamedType& known : kNames) {
    if (known.type == type) return known.name;
  }
  return DataTypeName(type.data_type);
}

double MatmulElementBytes(DataType type) {
  const auto bytes = TensorBytes(type, {kElements});
  if (!bytes.ok()) return 0;
  return static_cast<double>(bytes->value()) / static_cast<double>(kElements);
}

double ExpertRows(const GroupedMatmulShape& shape) {
  return static_cast<double>(shape.tokens) * static_cast<double>(shape.experts_per_token) /
         static_cast<double>(shape.expert_parallel);
}

double RowsPerExpert(const GroupedMatmulShape& shape) {
  return ExpertRows(shape) / LocalExperts(shape);
}

double ActiveWeights(const GroupedMatmulShape& shape) {
  return std::min(LocalExperts(shape), ExpertRows(shape)) * WeightsPerExpert(shape);
}

double GroupedMatmulFlops(const GroupedMatmulShape& shape) {
  return 2 * ExpertRows(shape) * WeightsPerExpert(shape);
}

}  // namespace sextant
