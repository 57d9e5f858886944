// Measured passes over memory, the input of predictions for kernels other than matrix products.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"

namespace sextant {

// As named by STREAM and its successors.
enum class StreamPattern {
  kRead,   // s = s + a[i]
  kWrite,  // a[i] = s
  kCopy,   // b[i] = a[i]
  kScale,  // b[i] = s a[i]
  kTriad,  // c[i] = a[i] + s b[i]
};
inline constexpr size_t kStreamPatternCount = static_cast<size_t>(StreamPattern::kTriad) + 1;

// "read", "triad".
absl::string_view StreamPatternName(StreamPattern pattern);

// The bytes and FLOPs of a kernel outside matrix products.
struct StreamWork {
  double read_bytes = 0;
  double written_bytes = 0;
  double flops = 0;

  double bytes() const { return read_bytes + written_bytes; }
  // The share of reads in the moved bytes; a half where nothing moves.
  double read_share() const { return bytes() > 0 ? read_bytes / bytes() : 0.5; }
};

struct MeasuredStream {
  StreamPattern pattern = StreamPattern::kCopy;
  int64_t array_bytes = 0;
  bool main_memory = false;  // the arrays exceed every cache
  Seconds time;              // of one pass
};

// One pass over an fp32 array in place, with multiply-adds on each element.
struct MeasuredElementwise {
  int64_t multiply_adds = 0;  // per element, two FLOPs each
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
  // The size of the last-level cache; absent: unknown.
  absl::optional<double> cache_bytes = {};
  // The rate of fp32 multiply-adds where the ladder has too few steps; absent: unknown.
  absl::optional<FlopsPerSecond> arithmetic = {};
};

// Errors: kInvalidArgument, all of them together, naming calibration's
//   "streams"         none in main memory, or more than kMaxKernelPoints
//   "streams[i]"      a size outside 1 to 2^50 bytes; a time that is not finite, not positive or
//                     above a day
//   "elementwise[i]"  the same; multiply-adds outside 1 to 2^40
absl::Status CheckStreamCalibration(const StreamCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CALIBRATION_H_
