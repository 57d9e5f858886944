// The largest model that fits on given devices, and meets a deadline and a budget.
#ifndef SEXTANT_ENGINE_SEARCH_SIZE_MODEL_H_
#define SEXTANT_ENGINE_SEARCH_SIZE_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/run/run_spec.h"
#include "engine/search/sized_run.h"

namespace sextant {

struct SizedModel {
  int64_t parameter_count = 0;
  int64_t token_count = 0;
  // The shape's; 0 for a bare number of parameters.
  int64_t hidden_size = 0;
  int64_t layer_count = 0;  // of all stacks
  double width_ratio = 0;   // to the model whose proportions it has
  SizedRun sized = {};
};

struct LargestModel {
  SizeBasis basis = SizeBasis::kStateAlone;
  bool met = false;
  SizedModel model = {};  // the largest that meets the limits, else the nearest miss
  absl::optional<ArchitectureSpec> shape = {};  // absent: a bare number of parameters
  // Missed by the next larger model that has a layout; where not met, by this one.
  SizeLimit limit = SizeLimit::kNone;
  std::vector<SizedModel> tried = {};  // ascending; empty for a bare number
};

// Sizes the model of `run`. Without a model in it the answer is the largest bare number of
// parameters, exactly: state and textbook time grow with it. With a model the answer is a rung of
// its ModelLadder, found by halving: the next larger rung was tried and does not meet the limits,
// nor do the three after it; a rung between others that were tried may still meet them where memory
// and time do not grow with the model, e.g. because its heads divide better. At most 40 rungs are
// tried, each with at most kBoundedEvaluations layouts.
//
// `tokens_per_parameter` takes the place of training.token_count.
//
// Pure. Errors: those of PlanRun() and SearchLayouts(); kInvalidArgument for a parameter_count, for
// changes to the model, and for tokens that are given twice or out of range.
absl::StatusOr<LargestModel> FindLargestModel(const RunSpec& run,
                                              absl::optional<double> tokens_per_parameter,
                                              FieldViolations found, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SIZE_MODEL_H_
