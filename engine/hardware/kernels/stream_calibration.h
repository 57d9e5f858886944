// The measured passes over memory that kernels other than products are predicted from.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"

namespace sextant {

// As STREAM and its heirs name them.
enum class StreamPattern {
  kRead,   // s = s + a[i]
  kWrite,  // a[i] = s
  kCopy,   // b[i] = a[i]
  kScale,  // b[i] = s a[i]
  kTriad,  // c[i] = a[i] + s b[i]
};

// "read", "triad".
absl::string_view StreamPatternName(StreamPattern pattern);

// What a kernel moves and computes beside products of matrices.
struct StreamWork {
  double read_bytes = 0;
  double written_bytes = 0;
  double flops = 0;

  double bytes() const { return read_bytes + written_bytes; }
  // Of what moves; a half where nothing does.
  double read_share() const { return bytes() > 0 ? read_bytes / bytes() : 0.5; }
};

struct MeasuredStream {
  StreamPattern pattern = StreamPattern::kCopy;
  int64_t array_bytes = 0;
  bool main_memory = false;  // no cache holds the arrays
  Seconds time;              // of one pass
};

// One pass over an fp32 array in place, with multiply-adds on each element.
struct MeasuredElementwise {
  int64_t multiply_adds = 0;  // an element, two FLOPs each
  int64_t array_bytes = 0;
  Seconds time;  // of one pass
};

StreamWork WorkOf(const MeasuredStream& measured);
StreamWork WorkOf(const MeasuredElementwise& measured);

// Passes of one device.
struct StreamCalibration {
  bool processor = false;
  // At least one of them in main memory.
  std::vector<MeasuredStream> streams = {};
  std::vector<MeasuredElementwise> ladder = {};
  // Of the last-level cache; absent: not known.
  absl::optional<double> cache_bytes = {};
  // Of fp32 multiply-adds where the ladder has too few steps; absent: not known.
  absl::optional<FlopsPerSecond> arithmetic = {};
};

// Errors: kInvalidArgument, all of them together, naming calibration's
//   "streams"         none in main memory, or more than kMostKernelPoints
//   "streams[i]"      a size outside 1 to 2^50 bytes; a time that is not finite, not positive or
//                     above a day
//   "elementwise[i]"  the same; multiply-adds outside 1 to 2^40
absl::Status CheckStreamCalibration(const StreamCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_
