// The passes of a micro-batch on one stage.
#ifndef SEXTANT_ENGINE_TIME_STEP_PASSES_H_
#define SEXTANT_ENGINE_TIME_STEP_PASSES_H_

#include <algorithm>

namespace sextant {

// Seconds of the passes of a micro-batch.
struct StepPasses {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;

  double backward() const { return input_gradient + weight_gradient; }
  double all() const { return forward + input_gradient + weight_gradient; }

  StepPasses Plus(const StepPasses& o) const {
    return {forward + o.forward, input_gradient + o.input_gradient,
            weight_gradient + o.weight_gradient};
  }
  StepPasses Least(const StepPasses& o) const {
    return {std::min(forward, o.forward), std::min(input_gradient, o.input_gradient),
            std::min(weight_gradient, o.weight_gradient)};
  }
  StepPasses Less(const StepPasses& o) const {
    return {forward - o.forward, input_gradient - o.input_gradient,
            weight_gradient - o.weight_gradient};
  }

  friend bool operator==(const StepPasses&, const StepPasses&) = default;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STEP_PASSES_H_
