// The question before a plan: given compute, how many parameters and tokens?
#ifndef SEXTANT_ENGINE_SEARCH_ALLOCATE_COMPUTE_H_
#define SEXTANT_ENGINE_SEARCH_ALLOCATE_COMPUTE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/note.h"
#include "engine/base/units.h"
#include "engine/hardware/rates.h"
#include "engine/run/plan.h"
#include "engine/run/run_spec.h"
#include "engine/search/scaling_law.h"

namespace sextant {

// A budget of compute and what it is for, as in sextant.v1.AllocateComputeRequest. Absent optionals
// and values out of range arrive here unchanged. String views outlive the call.
struct AllocationSpec {
  // Either FLOPs, or devices for a time: exactly one of duration_seconds and the run's
  // economics.seconds_to_deadline and economics.budget_usd.
  absl::optional<double> flops = {};
  bool devices_given = false;  // cluster is present
  absl::optional<double> duration_seconds = {};
  // Its cluster, economics, options.assumed_mfu, training.precision.compute_data_type and
  // rate_requirement; the model and the tokens are what is asked for.
  RunSpec run = {};

  absl::optional<ScalingRule> rule = {};                  // absent: all
  absl::optional<double> flops_per_parameter_token = {};  // absent: 6
  absl::optional<double> served_token_count = {};
  absl::optional<double> tokens_per_parameter = {};
};

// Limits of a budget: within them all counts fit an int64, and every rule gives one parameter or
// more.
inline constexpr double kMinBudgetFlops = 1e12;
inline constexpr double kMaxBudgetFlops = 1e30;

// Devices that compute for a time.
struct DeviceBudget {
  absl::string_view device;  // the catalogue's name, or else the device's own
  double device_count = 0;
  Seconds duration = {};
  EstimateKind basis = EstimateKind::kTextbook;  // or kMeasuredBound: the measured rate
  MfuBasis mfu_basis = MfuBasis::kAssumed;
  FlopsPerSecond rate = {};         // of one device: the peak, or what was measured
  double utilisation = 0;           // share of it that the budget counts
  absl::optional<double> mfu = {};  // absent: no peak is known
  absl::optional<Dollars> cost = {};

  double device_hours() const { return device_count * duration.value() / kSecondsPerHour; }
};

// The loss at another size of the same compute.
struct OffOptimum {
  double parameter_ratio = 0;  // over the optimum's
  double loss_increase = 0;
};

// The model with the fewest FLOPs of training and serving at the optimum's loss.
struct ServingAllocation {
  ModelSize size = {};
  Flops training = {};
  Flops serving = {};
  Flops saved = {};  // of training and serving the optimum, less those of this model
  double saved_ratio = 0;
  bool extrapolated = false;
};

// The model of the whole budget with a given number of tokens a parameter.
struct RatioAllocation {
  ModelSize size = {};
  absl::optional<double> loss = {};  // these three: of rules with a law of loss
  absl::optional<double> loss_increase = {};
  absl::optional<Flops> equal_loss = {};  // the budget whose optimum has this loss
  bool extrapolated = false;
};

// A rule's answer.
struct RuleAllocation {
  const ScalingRuleFacts* rule = nullptr;
  ModelSize optimum = {};
  absl::optional<double> loss = {};
  std::vector<OffOptimum> off_optimum = {};  // empty for rules without a law of loss
  bool extrapolated = false;                 // outside the range that the rule was fitted on
  absl::optional<ServingAllocation> serving = {};
  absl::optional<RatioAllocation> at_ratio = {};
};

struct ComputeAllocation {
  Flops budget = {};
  double flops_per_parameter_token = kTrainingFlopsPerParameterToken;
  absl::optional<DeviceBudget> devices = {};  // absent: FLOPs were given
  std::vector<RuleAllocation> rules = {};
  std::vector<Rate> rates = {};  // that the budget stands on
  Notes notes = {};              // about those rates
};

// Divides the budget of `spec` by its rule, or by each. `found` are errors already known.
//
// Errors: kInvalidArgument naming every invalid field: values out of range, no budget or two, times
// in two ways, fields that have no say in a budget; else those of PlanRun() about devices and their
// rates.
absl::StatusOr<ComputeAllocation> AllocateCompute(const AllocationSpec& spec,
                                                  FieldViolations found);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_ALLOCATE_COMPUTE_H_
