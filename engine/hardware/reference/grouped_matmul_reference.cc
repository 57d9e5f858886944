#include "engine/hardware/reference/grouped_matmul_reference.h"

namespace sextant {

std::array<absl::Span<const GroupedMatmulReference>, 4> GroupedMatmulReferences() {
  return {GroupedMatmulReferencesOfA100(), GroupedMatmulReferencesOfB200(),
          GroupedMatmulReferencesOfH100(), GroupedMatmulReferencesOfH200()};
}

const GroupedMatmulReference* FindGroupedMatmulReference(const GroupedMatmulKernel& kernel) {
  for (const absl::Span<const GroupedMatmulReference> references : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : references) {
      if (reference.device == kernel.device && reference.data_type == kernel.data_type &&
          reference.block_scaled == kernel.block_scaled && reference.gated == kernel.gated) {
        return &reference;
      }
    }
  }
  return nullptr;
}

std::vector<GroupedMatmulPoint> PointsOf(const GroupedMatmulReference& reference) {
  std::vector<GroupedMatmulPoint> out;
  for (const GroupedMatmulReferenceRow& row : reference.rows) {
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
