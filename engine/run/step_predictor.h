// Predicts the steps of one run's layouts, and keeps what they share: links, devices' kernels,
// software.
#ifndef SEXTANT_ENGINE_RUN_STEP_PREDICTOR_H_
#define SEXTANT_ENGINE_RUN_STEP_PREDICTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/framework/software_stack.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/measured_links.h"
#include "engine/hardware/placement.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/time/exchange_pricer.h"
#include "engine/time/operation_pricer.h"
#include "engine/time/stage_time.h"
#include "engine/time/step_time.h"

namespace sextant {

// The field of a request that keeps a step from being predicted.
struct MissingField {
  std::string field = {};  // empty: none does
  std::string why = {};
};
MissingField MissingForStep(const RunSpec& run, const ResolvedRun& resolved);
// Likewise of a step that offloads: a rate of the host.
MissingField MissingForOffload(const ResolvedRun& resolved);

class StepPredictor {
 public:
  struct Device {
    PlacedDevice placed;
    OperationPricer pricer;

    absl::string_view uuid() const;  // empty: not measured
  };

  // `run`, which has a layout, and `resolved` outlive the result. Their memory model may change
  // later: the layouts of one run share types and software.
  //
  // Errors: those of damaged measurements, and of `work`, which is asked before the models of each
  // device that was measured are fitted.
  static absl::StatusOr<std::unique_ptr<const StepPredictor>> Of(const RunSpec& run,
                                                                 const ResolvedRun& resolved,
                                                                 CallWork& work);

  // Empty where times of matrix products, attention or memory passes are unknown on one of them.
  absl::Span<const Device> devices() const { return devices_; }

  // The inputs of a layout whose memory `model` counts. `model` outlives them.
  ComputeInput ComputeOf(const MemoryModel& model) const;
  ExchangePricer ExchangesOf(const MemoryJob& job) const;
  StageTimeInput StagesOf(const ComputeInput& compute, const Device& device,
                          const ExchangePricer& exchanges) const;
  // The stages of the device whose slowest stage takes longest. Errors: those of `work`.
  absl::StatusOr<std::vector<StageTime>> SlowestStages(const MemoryModel& model,
                                                       const ExchangePricer& exchanges,
                                                       CallWork& work) const;
  StepInput StepOf(const MemoryJob& job, const ExchangePricer& exchanges,
                   absl::Span<const StageTime> stages) const;

  // Fields that the request leaves open, though the step depends on them.
  std::vector<std::string> OpenFields(const MemoryJob& job) const;

 private:
  StepPredictor(const RunSpec& run, const ResolvedRun& resolved);
  absl::Status FindLinks();
  absl::Status FindDevices(CallWork& work);
  double SendBytes(const MemoryJob& job) const;
  StepClass ClassOf(const MemoryJob& job) const;

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  const PricedTypes types_;
  const SoftwareConstants software_;
  const bool fused_projections_;
  const bool has_experts_;
  MeasuredLinks measured_;
  absl::optional<LinkTimes> links_;
  std::vector<Device> devices_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_STEP_PREDICTOR_H_
