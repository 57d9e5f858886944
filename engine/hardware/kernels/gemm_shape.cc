#include "engine/hardware/kernels/gemm_shape.h"

#include <algorithm>
#include <array>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

struct NamedType {
  absl::string_view name;
  GemmType type;
};

constexpr std::array<NamedType, 5> kNames = {{
    {"bf16", {DataType::kBf16, GemmScaling::kNone}},
    {"fp8", {DataType::kFp8E4m3, GemmScaling::kTensor}},
    {"fp8_block", {DataType::kFp8E4m3, GemmScaling::kBlock}},
    {"nvfp4", {DataType::kNvfp4, GemmScaling::kBlock}},
    {"int8", {DataType::kInt8, GemmScaling::kTensor}},
}};

// A multiple of the blocks of every block format.
constexpr int64_t kElements = 1024;

}  // namespace

GemmShape StackedGemm(const BatchedGemm& gemm) {
  GemmShape out = gemm.each;
  const int64_t most = kMaxKernelSize / std::max<int64_t>(gemm.batch, 1);
  out.m = out.m > most ? kMaxKernelSize : out.m * gemm.batch;
  return out;
}

GemmType GemmTypeNamed(absl::string_view name) {
  for (const NamedType& known : kNames) {
    if (known.name == name) return known.type;
  }
  return {};
}

absl::string_view GemmTypeName(GemmType type) {
  for (const NamedType& known : kNames) {
    if (known.type == type) return known.name;
  }
  return DataTypeName(type.data_type);
}

double GemmElementBytes(DataType type) {
  const auto bytes = TensorBytes(type, {kElements});
  if (!bytes.ok()) return 0;
  return static_cast<double>(bytes->value()) / static_cast<double>(kElements);
}

}  // namespace sextant
