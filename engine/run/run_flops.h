// The arithmetic of a run, under every convention that says how to count its model.
#ifndef SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
#define SEXTANT_ENGINE_RUN_RUN_FLOPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/convention.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct FlopsCount {
  CountingConvention convention;
  Flops per_token;
  Flops run;
};

struct RunFlops {
  std::vector<FlopsCount> counts = {};  // in the order of CountingConvention; at least one
  CountingConvention convention = CountingConvention::kSixNTotal;  // of the times
  // What is computed for each FLOP of `convention`, recomputation included; absent without a
  // sequence length.
  absl::optional<double> hardware_ratio = {};

  const FlopsCount& used() const;
};

// A model with a shape, or without one.
struct FlopsSubject {
  const ArchitectureSpec* architecture = nullptr;  // null: a bare parameter_count
  const WeightTensors& tensors;
  const ArchitectureCount& parameters;
};

// Counts `run`, whose model is `subject`. Without a sequence length only 6 N can be had, and of a
// shape whose parameters are not all met and trained by every token not even that.
//
// Errors: kInvalidArgument naming training.sequence_length and its like, or
// options.flops_convention where it does not say how to count this model.
absl::StatusOr<RunFlops> RunFlopsOf(const RunSpec& run, const FlopsSubject& subject);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_FLOPS_H_
