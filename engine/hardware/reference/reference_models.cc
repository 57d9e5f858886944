#include "engine/hardware/reference/reference_models.h"

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
