#include "engine/time/compute_time.h"

namespace sextant {

Seconds ComputeTime(const ComputeTimeInput& in) {
  const double devices = static_cast<double>(in.device_count);
  return in.flops / FlopsPerSecond(in.rate.value() * devices * in.utilisation);
}

}  // namespace sextant
