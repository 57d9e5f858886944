// How far one point of a plan is.
#ifndef SEXTANT_GPU_PROBE_POINT_STATE_H_
#define SEXTANT_GPU_PROBE_POINT_STATE_H_

#include <string>

#include "absl/status/status.h"
#include "gpu_probe/sampler.h"

namespace sextant {

struct PointState {
  PointSampler sampler;
  // Why its workload could not be made; OK otherwise.
  absl::Status left_out = {};

  bool measured() const { return !sampler.samples().empty(); }
  // Whether it may still be measured.
  bool open() const { return left_out.ok() && !measured(); }
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_POINT_STATE_H_
