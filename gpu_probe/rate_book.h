// The best rates seen so far, which tell what a point that was never run will take at least.
#ifndef SEXTANT_GPU_PROBE_RATE_BOOK_H_
#define SEXTANT_GPU_PROBE_RATE_BOOK_H_

#include <map>
#include <string>

#include "absl/types/optional.h"
#include "gpu_probe/point.h"

namespace sextant {

class RateBook {
 public:
  // One run of `point` took `seconds`, above 0.
  void Note(const Point& point, double seconds);

  // The least seconds that one run of `point` can take: at the best rate of its phase, or,
  // where nothing of that phase has run yet, at the best rate in its unit. Absent where
  // neither is known.
  absl::optional<double> LeastSeconds(const Point& point) const;

 private:
  std::map<std::string, double> best_of_phase_;  // work a second
  std::map<std::string, double> best_of_unit_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_RATE_BOOK_H_
