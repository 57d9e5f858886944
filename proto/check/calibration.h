// Checks that a calibration makes sense, with one set of rules for the server, which takes
// calibrations from strangers, and for the probe, which judges those of a fleet.
#ifndef SEXTANT_PROTO_CHECK_CALIBRATION_H_
#define SEXTANT_PROTO_CHECK_CALIBRATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "proto/check/field_checker.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::check {

// The schema that this version writes and reads.
inline constexpr int kSchemaVersion = 2;
inline constexpr size_t kMaxUuidBytes = 80;
// 2000-01-01: an earlier time means a clock that is not set.
inline constexpr int64_t kMinUnixSeconds = 946'684'800;

// True where `text` is 1 to kMaxUuidBytes letters, digits and dashes. Such a text is safe as a
// file's name, too.
bool IsUuid(absl::string_view text);

// A product's limits by its datasheet; absent or empty: not known.
struct ProductLimits {
  std::function<absl::optional<double>(v1::DataType)> peak_flops_per_second = nullptr;
  absl::optional<double> memory_bytes_per_second = {};
};

struct CalibrationRules {
  ProductLimits limits = {};
  // The share by which a rate may differ from what its shape and time give.
  double rate_tolerance = 0.01;
  int most_faults = std::numeric_limits<int>::max();
  // The program that reads it, for the advice on a newer schema: "..., newer than this server,
  // which reads 1: use a newer sextantd".
  absl::string_view reader = "";
  absl::string_view program = "";
};

// Reports what is wrong with `calibration`, under paths that start with `path` (e.g.
// "device.calibrations.calibrations[0]"), in the order of checking: a schema that this version does
// not read, missing fields, figures out of range, rates that disagree with their own shapes and
// times, and kernels, collectives and copies that repeat a shape or exceed the product's limits.
// Stops looking after `most_faults`. Fields that the server fills (accelerator, datasheet_mfu) are
// not checked.
void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      const CalibrationRules& rules, FaultSink sink);

}  // namespace sextant::check

#endif  // SEXTANT_PROTO_CHECK_CALIBRATION_H_
