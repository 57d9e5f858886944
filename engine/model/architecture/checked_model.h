// A model that has been checked and counted, with all that every use of it shares.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECKED_MODEL_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECKED_MODEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

class CheckedModel {
 public:
  // spec() is valid only as long as `spec`; all else is the result's own.
  //
  // Errors: kInvalidArgument with all errors that CheckArchitecture() finds under `path`, or
  // CountWeights()'s.
  static absl::StatusOr<std::shared_ptr<const CheckedModel>> Of(const ArchitectureSpec& spec,
                                                                absl::string_view path);
  // The same of a `spec` that has passed CheckArchitecture().
  static absl::StatusOr<std::shared_ptr<const CheckedModel>> OfSound(const ArchitectureSpec& spec,
                                                                     absl::string_view path);

  const ArchitectureSpec& spec() const { return spec_; }
  const WeightTensors& tensors() const { return tensors_; }
  const ArchitectureCount& count() const { return count_; }
  // By kind of layer: the first kind that differs from it in nothing but the name, or itself.
  absl::Span<const int> alike_kinds() const { return alike_kinds_; }

 private:
  CheckedModel(const ArchitectureSpec& spec, WeightTensors tensors, ArchitectureCount count);

  const ArchitectureSpec& spec_;
  const WeightTensors tensors_;
  const ArchitectureCount count_;
  std::vector<int> alike_kinds_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECKED_MODEL_H_
