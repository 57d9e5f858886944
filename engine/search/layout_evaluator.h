// Computes memory and time of the layouts of one run, and keeps what layouts share.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/run_spec.h"
#include "engine/run/run_steps.h"
#include "engine/run/step_predictor.h"
#include "engine/search/known_layouts.h"
#include "engine/search/layout_space.h"
#include "engine/search/memo.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// A layout whose memory and step were computed.
struct LayoutOption {
  LayoutChoice choice = {};
  SecondsInterval step = {};
  BytesInterval process = {};  // of the stage that holds the most
  double fit_chance = 0;
  Verdict verdict = Verdict::kDoesNotFit;
};

// Evaluates layouts one after another, each as PlanRun() would, to the last digit. Fastest in the
// order of LayoutSpace::ForEachGroup(). Complete() and SecondsWhere() refer to the layout of the
// last Evaluate(), so calls must match the regexp: Prepare (Evaluate Complete? SecondsWhere*)*
class LayoutEvaluator {
 public:
  // `run` has a layout. `work` outlives this.
  LayoutEvaluator(RunSpec run, CallWork& work);
  LayoutEvaluator(const LayoutEvaluator&) = delete;
  LayoutEvaluator& operator=(const LayoutEvaluator&) = delete;

  // `found`: see PlanRun(). `offloads`: the space is that of layouts that keep state in host
  // memory. `known`: see Resolve(). Errors: those of Resolve() and PlanStep().
  absl::Status Prepare(FieldViolations found, bool offloads = false, const KnownParts& known = {});

  const LayoutSpace& space() const { return base_.space; }
  const StateBound& bound() const { return base_.bound; }
  // Why no step can be predicted; empty: steps can be.
  const MissingField& untimed() const { return base_.untimed; }
  // Why no step that offloads can be predicted.
  MissingField untimed_offload() const { return MissingForOffload(base_.resolved); }

  // Absent: the framework or the shape refuses it, or its step can't be predicted. Without a step
  // where it does not fit, unless `times_all`; a step has no interval before Complete(). Errors: of
  // `work`.
  absl::StatusOr<absl::optional<LayoutOption>> Evaluate(const LayoutChoice& choice,
                                                        bool times_all = false);

  // The same, where a step that takes longer than `limit` seconds of its layout, whose memory is
  // known, need not be known: it may be shorter than it is, but is longer than the limit.
  using StepLimit = absl::FunctionRef<double(const LayoutOption&)>;
  absl::StatusOr<absl::optional<LayoutOption>> EvaluateWithin(const LayoutChoice& choice,
                                                              bool times_all, StepLimit limit);

  // Sets the interval of the step of `option`, which was evaluated last, if it has a step.
  void Complete(LayoutOption& option) const;

  // The step of the layout that was evaluated last, which has one, if all times of `rate` were
  // `slowness` times as long. Ignores `measured_step`.
  Seconds SecondsWhere(StepRate rate, double slowness) const;

 private:
  Verdict HostVerdict() const;
  void PrepareStep();
  void FillTimes(size_t device, size_t table, const StageTimeInput& in);
  StepInput Step() const;  // that was prepared
  absl::Status Calibrate();

  CallWork& work_;
  LayoutBase base_;                       // Prepare() alone writes it
  absl::optional<KnownLayouts> known_;    // of base_
  std::vector<PricedOperations> priced_;  // by device
  ShortMemo<RecomputePolicy, absl::StatusOr<MeasuredRatio>> measured_;
  size_t slowest_ = 0;  // the index of the LayoutChunks::times that decide
  StepEstimate step_;   // of the layout that was evaluated last
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_
