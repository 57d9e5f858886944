// Failures, checkpoints and stalls: the time that they add to a run.
#ifndef SEXTANT_ENGINE_RUN_INTERRUPTIONS_H_
#define SEXTANT_ENGINE_RUN_INTERRUPTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/memory/model_state.h"

namespace sextant {

// As in sextant.v1.InterruptionSpec. Absent fields add nothing.
struct InterruptionSpec {
  absl::optional<double> failures_per_device_hour = {};
  absl::optional<double> restart_seconds = {};
  absl::optional<double> checkpoint_write_bytes_per_second = {};
  absl::optional<double> device_write_bytes_per_second = {};
  absl::optional<double> checkpoint_read_bytes_per_second = {};
  absl::optional<double> checkpoint_stall_ratio = {};
  absl::optional<double> checkpoint_interval_seconds = {};
  absl::optional<double> stall_ratio = {};

  bool fails() const { return failures_per_device_hour.value_or(0) > 0; }
  // True where the run writes checkpoints.
  bool writes() const { return fails() || checkpoint_interval_seconds.has_value(); }
};

// Appends to `violations` all errors of `spec` by itself, at "interruptions".
void CheckInterruptions(const InterruptionSpec& spec, FieldViolations& violations);

struct CheckpointTerm {
  absl::string_view name;  // as StateTerm::name
  Bytes size = Bytes(0);
};

// The checkpoint that resumes a run.
struct CheckpointPlan {
  std::vector<CheckpointTerm> terms = {};
  Bytes size = Bytes(0);                        // their sum
  absl::optional<Seconds> write = {};           // absent: no rate is given
  absl::optional<Seconds> young_interval = {};  // absent without failures, like the next
  absl::optional<Seconds> daly_interval = {};
  absl::optional<int64_t> count = {};       // in the expected run; absent where none is written
  Bytes resume_read = Bytes(0);             // by all devices together
  Bytes resume_read_per_device = Bytes(0);  // by the one that reads the most
  absl::optional<Seconds> resume = {};      // absent: no rate is given
};

// A checkpoint of `state`, whose parameters are counted in `parameters`: all that a trained
// parameter keeps but its gradient, e.g. 2 + 4 + 4 + 4 bytes under mixed-precision AdamW. Frozen
// weights don't change and are not written. Source: Rajbhandari et al. 2020 (arXiv 1910.02054)
// section 3.1, less the gradients.
CheckpointPlan CheckpointOf(const ModelState& state, const WeightCount& parameters);

// The training between two checkpoints that loses the least time, to first order, where training
// stands still for `stall` at each and fails once in `between_failures` on average:
// formula::YoungInterval().
Seconds YoungInterval(Seconds stall, Seconds between_failures);

// The same to higher order: formula::DalyInterval(), or M where C >= 2 M.
Seconds DalyInterval(Seconds stall, Seconds between_failures);

// The interruptions of a run. Seconds are those of its clock.
struct Interruptions {
  absl::optional<Seconds> between_failures = {};  // absent: it never fails
  absl::optional<Seconds> interval = {};          // of work; absent: no checkpoints
  Seconds write = {};                             // until a checkpoint can be used
  Seconds stall = {};                             // of that, in which training stands still
  Seconds restart = {};                           // reading included
  double stall_ratio = 0;                         // other seconds for each second of steps
};

// The seconds that a second of steps takes.
struct ElapsedShares {
  double steps = 1;
  double stalls = 0;
  double checkpoints = 0;
  double failures = 0;

  double all() const { return steps + stalls + checkpoints + failures; }
};

// Work of t and a checkpoint's stall c have to pass without a failure, else they are done again
// after a restart; failures of mean distance M are exponential, and may hit a restart, too:
//   elapsed = M e^(r / M) (e^((t + c) / M) - 1) / t    for each second of work
// where r is the restart and what a checkpoint still takes after its stall, until which the one
// before it counts. Derivation: docs/plan.md, "The whole run"; Daly 2006, section 4. Infinite where
// the numbers are too large.
ElapsedShares ElapsedPerSecond(const Interruptions& interruptions);

// The standard deviation of the time that failures add to a run that takes `elapsed` in all: their
// number has a Poisson distribution, each loses a part of an interval, uniformly.
// Derivation: docs/plan.md, "The whole run".
Seconds DeviationOfFailures(const Interruptions& interruptions, Seconds elapsed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_INTERRUPTIONS_H_
