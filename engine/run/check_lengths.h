// What the lengths of a run's sequences must be to fit its model.
#ifndef SEXTANT_ENGINE_RUN_CHECK_LENGTHS_H_
#define SEXTANT_ENGINE_RUN_CHECK_LENGTHS_H_

#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Appends to `violations` what is wrong with the lengths of `training`, and with its recompute
// policy, for `spec`.
void CheckLengths(const TrainingSpec& training, const ArchitectureSpec& spec,
                  FieldViolations& violations);

// The training step that they describe, of one sequence: FLOPs a token are the same for more.
// `training` has a sequence length.
TrainingStepSpec StepOf(const TrainingSpec& training);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_CHECK_LENGTHS_H_
