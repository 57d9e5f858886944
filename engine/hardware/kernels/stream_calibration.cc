#include "engine/hardware/kernels/stream_calibration.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {
namespace {

constexpr int64_t kMaxArrayBytes = int64_t{1} << 50;
constexpr double kLadderElementBytes = 4;

struct Arrays {
  double read = 0;
  double written = 0;
};

Arrays ArraysOf(StreamPattern pattern) {
  switch (pattern) {
    case StreamPattern::kRead:
      return {1, 0};
    case StreamPattern::kWrite:
      return {0, 1};
    case StreamPattern::kCopy:
    case StreamPattern::kScale:
      return {1, 1};
    case StreamPattern::kTriad:
      break;
  }
  return {2, 1};
}

}  // namespace

absl::string_view StreamPatternName(StreamPattern pattern) {
  switch (pattern) {
    case StreamPattern::kRead:
      return "read";
    case StreamPattern::kWrite:
      return "write";
    case StreamPattern::kCopy:
      return "copy";
    case StreamPattern::kScale:
      return "scale";
    case StreamPattern::kTriad:
      break;
  }
  return "triad";
}

// The FLOP per element of a read or a scale, and the two of a triad, are negligible next to their
// bytes.
StreamWork WorkOf(const MeasuredStream& measured) {
  const Arrays arrays = ArraysOf(measured.pattern);
  const auto bytes = static_cast<double>(measured.array_bytes);
  return {.read_bytes = arrays.read * bytes, .written_bytes = arrays.written * bytes};
}

StreamWork WorkOf(const MeasuredElementwise& measured) {
  const auto bytes = static_cast<double>(measured.array_bytes);
  const double elements = bytes / kLadderElementBytes;
  return {.read_bytes = bytes,
          .written_bytes = bytes,
          .flops = 2 * static_cast<double>(measured.multiply_adds) * elements};
}

absl::Status CheckStreamCalibration(const StreamCalibration& calibration) {
  FieldViolations out;
  const std::vector<MeasuredStream>& streams = calibration.streams;
  const bool of_memory = std::any_of(streams.begin(), streams.end(),
                                     [](const MeasuredStream& s) { return s.main_memory; });
  const size_t count = streams.size() + calibration.ladder.size();
  if (!of_memory || count > kMaxKernelPoints) {
    out.Add("calibration.streams",
            absl::StrCat("has ", of_memory ? "" : "none in main memory of ", count,
                         " passes; want one at least, and at most ", kMaxKernelPoints));
    return out.ToStatus();
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const std::string path = absl::StrCat("calibration.streams[", i, "]");
    out.RequireRange(path, "array_bytes", streams[i].array_bytes, 1, kMaxArrayBytes);
    CheckKernelTime(path, streams[i].time, out);
  }
  for (size_t i = 0; i < calibration.ladder.size(); ++i) {
    const MeasuredElementwise& step = calibration.ladder[i];
    const std::string path = absl::StrCat("calibration.elementwise[", i, "]");
    out.RequireRange(path, "array_bytes", step.array_bytes, 1, kMaxArrayBytes);
    out.RequireRange(path, "multiply_add_count", step.multiply_adds, 1, kMaxKernelSize);
    CheckKernelTime(path, step.time, out);
  }
  return out.ToStatus();
}

}  // namespace sextant
