#include "engine/run/check_lengths.h"

#include "absl/strings/match.h"

namespace sextant {

TrainingStepSpec StepOf(const TrainingSpec& training) {
  return {.sequences = {{.count = 1,
                         .length = *training.sequence_length,
                         .encoder_length = training.encoder_sequence_length.value_or(0)}},
          .recompute = training.recompute};
}

void CheckLengths(const TrainingSpec& training, const ArchitectureSpec& spec,
                  FieldViolations& violations) {
  if (!training.sequence_length.has_value()) {
    constexpr char kNeedsLength[] = "changes FLOPs only beside training.sequence_length: give that";
    if (training.encoder_sequence_length.has_value()) {
      violations.Add("training.encoder_sequence_length", kNeedsLength);
    }
    if (training.recompute != RecomputePolicy::kNone) {
      violations.Add("training.recompute", kNeedsLength);
    }
    return;
  }
  if (*training.sequence_length == 0) {
    violations.Add("training.sequence_length", "must be at least 1, or left out");
    return;
  }
  FieldViolations found;
  CheckTrainingStep(StepOf(training), spec, "step", found);
  for (const FieldViolation& violation : found.all()) {
    violations.Add(absl::EndsWith(violation.field, "encoder_length")
                       ? "training.encoder_sequence_length"
                       : "training.sequence_length",
                   violation.description);
  }
}

}  // namespace sextant
