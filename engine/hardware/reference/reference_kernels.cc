#include "engine/hardware/reference/reference_kernels.h"

#include <deque>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/lazy.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

template <typename Reference, typename Model>
struct KeptModel {
  const Reference* reference;
  Lazy<absl::optional<Model>> model;  // absent: it could not be made
};

// A deque, since lazy values can't move.
template <typename Reference, typename Model>
using KeptModels = std::deque<KeptModel<Reference, Model>>;

// Kept for the life of the process.
template <typename Reference, typename Model, typename References>
KeptModels<Reference, Model>& KeptModelsOf(const References& all) {
  static KeptModels<Reference, Model>* const kept = [&all] {
    auto* out = new KeptModels<Reference, Model>;
    for (const absl::Span<const Reference> of_device : all) {
      for (const Reference& reference : of_device) out->emplace_back().reference = &reference;
    }
    return out;
  }();
  return *kept;
}

template <typename Reference, typename Model, typename Make>
const Model* ModelIn(KeptModels<Reference, Model>& kept, const Reference& reference, Make make) {
  for (KeptModel<Reference, Model>& each : kept) {
    if (each.reference != &reference) continue;
    const absl::optional<Model>& model = each.model.Get([&] {
      absl::StatusOr<Model> made = make(reference);
      return made.ok() ? absl::make_optional(*std::move(made)) : absl::nullopt;
    });
    return model.has_value() ? &*model : nullptr;
  }
  return nullptr;
}

absl::StatusOr<AttentionModel> MadeOf(const AttentionReference& reference) {
  const std::vector<AttentionPoint> points = PointsOf(reference);
  AttentionCalibration calibration = {.points = points};
  const Accelerator* accelerator = AcceleratorNamed(reference.device);
  if (accelerator != nullptr && accelerator->compute_unit_count) {
    calibration.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
  }
  return AttentionModel::Of(calibration);
}

}  // namespace

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

const AttentionModel* ReferenceModel(const AttentionReference& reference) {
  auto& kept = KeptModelsOf<AttentionReference, AttentionModel>(AttentionReferences());
  return ModelIn(kept, reference, MadeOf);
}

const GroupedMatmulModel* ReferenceModel(const GroupedMatmulReference& reference) {
  auto& kept = KeptModelsOf<GroupedMatmulReference, GroupedMatmulModel>(GroupedMatmulReferences());
  return ModelIn(kept, reference, [](const GroupedMatmulReference& of) {
    return GroupedMatmulModel::Of({.points = PointsOf(of)});
  });
}

}  // namespace sextant
