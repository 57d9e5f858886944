#include "engine/run/planned_run.h"

namespace sextant {

const TimeEstimate* Plan::estimate(EstimateKind kind) const {
  for (const TimeEstimate& estimate : estimates) {
    if (estimate.kind == kind) return &estimate;
  }
  return nullptr;
}

Verdict Plan::verdict() const {
  if (memory_estimate.has_value()) return memory_estimate->verdict;
  if (!fit.fits()) return Verdict::kDoesNotFit;
  return activations.has_value() ? Verdict::kFits : Verdict::kStateFits;
}

const TimeEstimate* BasisOf(const Plan& plan) {
  for (const EstimateKind kind :
       {EstimateKind::kPredicted, EstimateKind::kTextbook, EstimateKind::kMeasuredBound}) {
    if (const TimeEstimate* const found = plan.estimate(kind)) return found;
  }
  return nullptr;
}

const WeightTensors& Plan::tensors() const {
  static const WeightTensors& none = *new WeightTensors;
  return model != nullptr ? model->tensors() : none;
}

}  // namespace sextant
