#include "engine/hardware/reference/attention_reference.h"

namespace sextant {

std::array<absl::Span<const AttentionReference>, 4> AttentionReferences() {
  return {AttentionReferencesOfA100(), AttentionReferencesOfB200(), AttentionReferencesOfH100(),
          AttentionReferencesOfH200()};
}

const AttentionReference* FindAttentionReference(absl::string_view device, DataType data_type,
                                                 bool latent) {
  for (const absl::Span<const AttentionReference> references : AttentionReferences()) {
    for (const AttentionReference& reference : references) {
      if (reference.device == device && reference.data_type == data_type &&
          reference.latent == latent) {
        return &reference;
      }
    }
  }
  return nullptr;
}

std::vector<AttentionPoint> PointsOf(const AttentionReference& reference) {
  std::vector<AttentionPoint> out;
  for (const AttentionReferenceClass& like : reference.classes) {
    for (const AttentionReferenceRow& row : like.rows) {
      out.push_back({.shape = {.batch = row.batch,
                               .sequence = row.sequence,
                               .heads = row.heads,
                               .key_value_heads = row.key_value_heads,
                               .query_key_head_size = like.query_key_head_size,
                               .value_head_size = like.value_head_size,
                               .causal = like.causal,
                               .window = like.window},
                     .time = Seconds(row.microseconds * 1e-6)});
    }
  }
  return out;
}

}  // namespace sextant
