// A lower bound of a layout's memory, from its sizes alone.
#ifndef SEXTANT_ENGINE_SEARCH_STATE_BOUND_H_
#define SEXTANT_ENGINE_SEARCH_STATE_BOUND_H_

#include <cstdint>

#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_space.h"

namespace sextant {

// Weights, gradients, master weights and optimizer state of a device, in nanoseconds. A layout that
// it excludes would get the verdict kDoesNotFit. docs/search.md, "State bounds memory", derives it.
class StateBound {
 public:
  StateBound() = default;  // excludes nothing
  // `run` has a layout.
  StateBound(const RunSpec& run, const ResolvedRun& resolved);

  // The state of the fullest stage. `data`: the data parallel ranks of `choice`.
  double BytesOf(const LayoutChoice& choice, int64_t data) const;

  bool Excludes(const LayoutChoice& choice, int64_t data) const {
    return BytesOf(choice, data) > most_;
  }

 private:
  // Bytes of the whole model, in one copy.
  struct Part {
    double weights = 0;
    double gradients = 0;
    double optimizer = 0;  // and master weights
  };

  double BytesOf(const Part& part, const LayoutChoice& choice, double ranks) const;

  Part dense_;
  Part experts_;
  bool offloads_optimizer_ = false;  // as the run gives it
  bool offloads_weights_ = false;
  double most_ = 1e300;  // counted bytes of a process that may fit
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_STATE_BOUND_H_
