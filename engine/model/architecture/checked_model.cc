#include "engine/model/architecture/checked_model.h"

#include <utility>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

std::vector<int> AlikeKindsOf(const ArchitectureSpec& spec) {
  std::vector<int> out;
  out.reserve(spec.layer_kinds.size());
  for (const LayerSpec& kind : spec.layer_kinds) {
    int first = 0;
    while (!IsAlike(spec.layer_kinds[static_cast<size_t>(first)], kind)) ++first;
    out.push_back(first);
  }
  return out;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CheckedModel>> CheckedModel::Of(const ArchitectureSpec& spec,
                                                                     absl::string_view path) {
  FieldViolations violations;
  CheckArchitecture(spec, path, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return OfSound(spec, path);
}

absl::StatusOr<std::shared_ptr<const CheckedModel>> CheckedModel::OfSound(
    const ArchitectureSpec& spec, absl::string_view path) {
  WeightTensors tensors = WeightsOf(spec);
  SEXTANT_ASSIGN_OR_RETURN(ArchitectureCount count, CountWeights(tensors, path));
  return std::shared_ptr<const CheckedModel>(
      new CheckedModel(spec, std::move(tensors), std::move(count)));
}

CheckedModel::CheckedModel(const ArchitectureSpec& spec, WeightTensors tensors,
                           ArchitectureCount count)
    : spec_(spec),
      tensors_(std::move(tensors)),
      count_(std::move(count)),
      alike_kinds_(AlikeKindsOf(spec)) {}

}  // namespace sextant
