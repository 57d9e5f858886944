// Converts a run's layout to the job whose memory is counted.
#ifndef SEXTANT_ENGINE_RUN_JOB_H_
#define SEXTANT_ENGINE_RUN_JOB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/framework/recipe.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/run/run_spec.h"

namespace sextant {

// The settings of a job's memory that a change of the run may alter.
struct JobChoice {
  RunLayout layout = {};
  RecomputePolicy recompute = RecomputePolicy::kNone;
  int64_t sequence_length = 0;
  int64_t encoder_sequence_length = 0;  // 0: not given
  int64_t device_count = 0;
};

// The part of a job that no change of the run affects.
struct JobContext {
  const ArchitectureSpec& spec;
  const PrecisionPolicy& precision;  // with its defaults
  const OptimizerSpec& optimizer;
  DeviceGeneration generation = DeviceGeneration::kUnknown;  // of the devices
  ClassHabits habits = {};                                   // where the layout does not say
  const Recipe* recipe = nullptr;                            // whose types the run takes
};

bool HasExperts(const ArchitectureSpec& spec);

// The choice that `run` makes. `run` has a layout. A length that is not given is 0.
JobChoice ChoiceOf(const RunSpec& run);

// The size of the vocabulary that the framework pads where the request says nothing of padding; 0
// where it pads nothing.
int64_t PaddedVocabularyOf(const RunLayout& layout, const ArchitectureSpec& shape);
// `shape` with that vocabulary; null where it is 0.
std::shared_ptr<const ArchitectureSpec> PaddedShape(const RunLayout& layout,
                                                    const ArchitectureSpec& shape);

// The job of `choice`. Appends to `violations` the fields that no job can have; MemoryModel::Of()
// checks the job itself. Where device_count is 0 or not divisible, the job has as many data
// parallel ranks as its sharding needs, so that the other fields can still be checked.
MemoryJob JobOf(const JobContext& context, const JobChoice& choice, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_JOB_H_
