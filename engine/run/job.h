// From a run's layout to the job whose memory is counted.
#ifndef SEXTANT_ENGINE_RUN_JOB_H_
#define SEXTANT_ENGINE_RUN_JOB_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/run/run_layout.h"
#include "engine/run/run_spec.h"

namespace sextant {

// All that a job's memory depends on and a change of the run may make other.
struct JobChoice {
  RunLayout layout = {};
  RecomputePolicy recompute = RecomputePolicy::kNone;
  int64_t sequence_length = 0;
  int64_t encoder_sequence_length = 0;  // 0: not given
  int64_t device_count = 0;
};

// What stays as it is.
struct JobContext {
  const ArchitectureSpec& spec;
  const PrecisionPolicy& precision;  // with its defaults
  const OptimizerSpec& optimizer;
};

// The choice that `run`, which has a layout, makes; a length that it has not is 0.
JobChoice ChoiceOf(const RunSpec& run);

// The job of `choice`. Appends to `violations` what of it goes into no job; MemoryModel::Of()
// checks the job itself. Where devices are 0 or don't divide, the job is of as many data parallel
// ranks as its sharding asks for, so that the rest can be looked at.
JobSpec JobOf(const JobContext& context, const JobChoice& choice, FieldViolations& violations);

// Where a request has `job_field`, a field that MemoryModel::Of() finds fault with.
std::string RequestFieldOf(absl::string_view job_field);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_JOB_H_
