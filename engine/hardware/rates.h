// Hardware figures that a plan used, each with where it comes from.
#ifndef SEXTANT_ENGINE_HARDWARE_RATES_H_
#define SEXTANT_ENGINE_HARDWARE_RATES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// As sextant.v1.RateSource, from best to worst.
enum class RateSource {
  kMeasuredSupplied = 1,  // a calibration of the caller's
  kMeasuredDevice = 2,    // this host's own measurement of the very devices named
  kMeasuredModel = 3,   // this host's measurements of devices of the same product: their median
  kReference = 4,       // somebody's published measurements of the product
  kDatasheet = 5,
  kRequest = 6,  // a figure of the caller's, taken as it is
};

// "measured_supplied".
absl::string_view RateSourceName(RateSource source);

// What only a measured figure has.
struct Measurement {
  absl::optional<double> relative_spread = {};  // absent for what has no samples
  absl::optional<bool> stable = {};
  int64_t unix_seconds = 0;
  absl::string_view device_uuid = "";
  absl::string_view calibration_fingerprint = "";
};

struct Rate {
  absl::string_view quantity;  // "peak_flops_per_second", "memory_bytes", ...
  DataType data_type = DataType::kUnspecified;
  double value = 0;
  absl::string_view unit;  // "FLOP/s", "byte", "W"
  RateSource source = RateSource::kDatasheet;
  std::string citation = {};
  absl::string_view device = "";  // the catalogue's name, or else the device's own
  absl::optional<Measurement> measured = {};
};

// A hash of every rate, in order: equal for equal rates, on every machine.
std::string RatesFingerprint(absl::Span<const Rate> rates);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_RATES_H_
