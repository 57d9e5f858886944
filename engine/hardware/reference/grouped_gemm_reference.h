// Published times of layers of experts, a calibration for each of a few devices.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_GROUPED_GEMM_REFERENCE_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_GROUPED_GEMM_REFERENCE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/grouped_gemm_model.h"
#include "engine/tensor/data_type.h"

namespace sextant {

struct GroupedGemmReferenceRow {
  int32_t tokens;
  int32_t hidden;
  int32_t intermediate;
  int32_t experts_per_token;
  int32_t experts;
  int32_t expert_parallel;
  double microseconds;
};

struct GroupedGemmReference {
  absl::string_view device;  // the catalogue's name
  DataType data_type = DataType::kUnspecified;
  bool block_scaled = false;  // fp8 with a scale a block, not a tensor
  bool gated = true;
  absl::string_view kernel;  // "trtllm 1.3.0rc20 cutlass"
  absl::Span<const GroupedGemmReferenceRow> rows;
};

// Made by make_attention_reference.py.
absl::Span<const GroupedGemmReference> GroupedGemmReferencesOfA100();
absl::Span<const GroupedGemmReference> GroupedGemmReferencesOfB200();
absl::Span<const GroupedGemmReference> GroupedGemmReferencesOfH100();
absl::Span<const GroupedGemmReference> GroupedGemmReferencesOfH200();

// All of them, a span a device.
std::array<absl::Span<const GroupedGemmReference>, 4> GroupedGemmReferences();

// What to look for.
struct GroupedGemmKernel {
  absl::string_view device;
  DataType data_type = DataType::kUnspecified;
  bool block_scaled = false;
  bool gated = true;
};

// Null: none.
const GroupedGemmReference* FindGroupedGemmReference(const GroupedGemmKernel& kernel);

std::vector<GroupedGemmPoint> PointsOf(const GroupedGemmReference& reference);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_GROUPED_GEMM_REFERENCE_H_
