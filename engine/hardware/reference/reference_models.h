// Models of the published times of attention and expert layers.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MODELS_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MODELS_H_

#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/reference/attention_reference.h"
#include "engine/hardware/reference/grouped_matmul_reference.h"

namespace sextant {

// Built at the first call for `reference` (some milliseconds), and cached. `reference` comes from
// FindAttentionReference() or FindGroupedMatmulReference(). Null where the fit fails; tests build
// each of them.
const AttentionModel* ReferenceModel(const AttentionReference& reference);
const GroupedMatmulModel* ReferenceModel(const GroupedMatmulReference& reference);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MODELS_H_
