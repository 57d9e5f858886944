// Whether a calibration can be judged at all.
#ifndef SEXTANT_GPU_PROBE_HEALTH_SOUND_H_
#define SEXTANT_GPU_PROBE_HEALTH_SOUND_H_

#include <cstdint>

#include "absl/status/status.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// OK where every figure that is judged is what its own time and shape give, no other is nonsense,
// and the measurement is of this schema, names its device, and is not from the future: at most
// five minutes, since hosts' clocks differ, after `now_unix_seconds`.
//
// Errors: kDataLoss with what is wrong, kUnimplemented where the schema is newer.
absl::Status CheckSound(const v1::Calibration& calibration, int64_t now_unix_seconds);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_SOUND_H_
