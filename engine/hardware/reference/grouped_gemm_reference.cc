#include "engine/hardware/reference/grouped_gemm_reference.h"

namespace sextant {

std::array<absl::Span<const GroupedGemmReference>, 4> GroupedGemmReferences() {
  return {GroupedGemmReferencesOfA100(), GroupedGemmReferencesOfB200(),
          GroupedGemmReferencesOfH100(), GroupedGemmReferencesOfH200()};
}

const GroupedGemmReference* FindGroupedGemmReference(const GroupedGemmKernel& kernel) {
  for (const absl::Span<const GroupedGemmReference> references : GroupedGemmReferences()) {
    for (const GroupedGemmReference& reference : references) {
      if (reference.device == kernel.device && reference.data_type == kernel.data_type &&
          reference.block_scaled == kernel.block_scaled && reference.gated == kernel.gated) {
        return &reference;
      }
    }
  }
  return nullptr;
}

std::vector<GroupedGemmPoint> PointsOf(const GroupedGemmReference& reference) {
  std::vector<GroupedGemmPoint> out;
  for (const GroupedGemmReferenceRow& row : reference.rows) {
    out.push_back({.shape = {.tokens = row.tokens,
                             .hidden = row.hidden,
                             .intermediate = row.intermediate,
                             .experts_per_token = row.experts_per_token,
                             .experts = row.experts,
                             .expert_parallel = row.expert_parallel,
                             .gated = reference.gated},
                   .time = Seconds(row.microseconds * 1e-6)});
  }
  return out;
}

}  // namespace sextant
