// A run to plan, as sextant.v1.PlanRunRequest asks for it. Absent optionals and zeros in
// required fields arrive here unchanged: CheckRun() names what is wrong.
#ifndef SEXTANT_ENGINE_RUN_RUN_SPEC_H_
#define SEXTANT_ENGINE_RUN_RUN_SPEC_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/rates.h"
#include "engine/memory/training_policy.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/training_step.h"
#include "engine/model/model_spec.h"
#include "engine/run/run_layout.h"

namespace sextant {

struct TrainingSpec {
  int64_t token_count = 0;
  PrecisionPolicy precision;
  OptimizerSpec optimizer;
  absl::optional<int64_t> activation_bytes = {};
  absl::optional<int64_t> sequence_length = {};
  absl::optional<int64_t> encoder_sequence_length = {};
  RecomputePolicy recompute = RecomputePolicy::kNone;
};

// A device of this host that a run names, and what was measured of it.
struct NamedDevice {
  absl::Status found;           // kNotFound DEVICE_UNKNOWN: the host has no such device
  absl::string_view uuid = "";  // empty where it was not found, like the product
  absl::string_view product_name = "";
  absl::optional<DeviceCalibration> calibration = {};  // absent: never measured, or distrusted
  bool distrusted = false;                             // its last probe had a wrong result
  double age_seconds = 0;                              // of the calibration
};

// The most devices that a run names one by one.
inline constexpr int kMaxNamedDevices = 64;

// The most calibrations that a run brings along: each has to be checked, figure by figure.
inline constexpr int kMaxCalibrations = 16;

// Exactly one of accelerator, devices and calibrations.
struct ClusterSpec {
  absl::string_view accelerator;
  std::vector<NamedDevice> devices = {};             // cluster.device_uuids
  std::vector<DeviceCalibration> calibrations = {};  // the caller's own; one at fault is empty
  int64_t device_count = 0;
  absl::optional<double> peak_flops_per_second = {};
  absl::optional<int64_t> device_memory_bytes = {};
  absl::optional<int64_t> reserved_memory_bytes = {};
};

struct EconomicsSpec {
  absl::optional<double> device_hour_price_usd = {};
  absl::optional<double> device_power_watts = {};
  absl::optional<double> host_power_watts_per_device = {};
  absl::optional<double> power_usage_effectiveness = {};
};

// What the rate of matrix multiplication must be, or else there is no plan.
struct RateRequirement {
  absl::optional<RateSource> minimum_source = {};   // the worst allowed
  absl::optional<double> maximum_age_seconds = {};  // of this host's measurements
};

struct PlanOptions {
  absl::optional<double> assumed_mfu = {};
  absl::optional<FlopsConvention> flops_convention = {};
  bool include_derivation = false;
  bool include_ledger = false;  // beside a layout
};

// Texts are views: they outlive the call that plans the run.
struct RunSpec {
  ModelSpec model;
  TrainingSpec training;
  ClusterSpec cluster;
  EconomicsSpec economics;
  PlanOptions options;
  RateRequirement rate_requirement;
  absl::optional<RunLayout> layout = {};
};

// Appends to `violations` all that is wrong with `run` taken by itself: ranges, missing
// fields, options that exclude one another. Names are looked up later.
void CheckRun(const RunSpec& run, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_SPEC_H_
