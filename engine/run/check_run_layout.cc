#include "engine/run/check_run_layout.h"

namespace sextant {

void CheckRunLayout(const RunSpec& run, FieldViolations& violations) {
  if (!run.layout.has_value()) {
    if (run.options.include_ledger) {
      violations.Add("options.include_ledger",
                     "is of memory under a layout: leave it out, or give layout");
    }
    return;
  }
  if (run.model.parameter_count.has_value()) {
    violations.Add(
        "layout",
        "needs the model's shape, which a bare parameter_count has not: leave it out, or "
        "give a preset, transformer, hugging_face_config or architecture");
    return;
  }
  if (!run.training.sequence_length.has_value()) {
    violations.Add("training.sequence_length",
                   "is required beside layout: activations depend on it");
  }
  if (run.training.activation_bytes.has_value()) {
    violations.Add("training.activation_bytes",
                   "are counted under a layout: leave them out, or leave out layout");
  }
}

}  // namespace sextant
