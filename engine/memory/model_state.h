// Model state: what training keeps for the parameters, as a sum of declared terms.
#ifndef SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_
#define SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// One declared term: `elements` numbers of `element_bytes` each, and `scale_bytes` of
// scales beside them where the format has blocks. size = elements x element_bytes + scale_bytes.
struct StateTerm {
  absl::string_view name;  // "weight", "gradient", "master_weight", "first_moment", ...
  DataType data_type = DataType::kUnspecified;
  int64_t elements = 0;
  int64_t element_bytes = 0;
  int64_t scale_bytes = 0;
  Bytes size = Bytes(0);
  absl::string_view source;  // where it is known from that this term is kept
};

using StateTerms = absl::InlinedVector<StateTerm, 6>;

struct ModelState {
  StateTerms terms;
  Bytes total;  // exactly their sum
};

// The state of the parameters counted, whose tensors are `tensors`; empty where only their number
// is known, and then NeedsShapes(optimizer.kind) has to be false. Only what is trained has
// gradients, master weights and optimizer state. `precision` has its defaults filled in.
//
// Errors: kInvalidArgument "model" where the total exceeds 9.2e18 bytes.
absl::StatusOr<ModelState> ModelStateOf(const WeightCount& parameters, const WeightTensors& tensors,
                                        const PrecisionPolicy& precision,
                                        const OptimizerSpec& optimizer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_
