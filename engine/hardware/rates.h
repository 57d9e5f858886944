// Hardware figures that a plan used, with their sources.
#ifndef SEXTANT_ENGINE_HARDWARE_RATES_H_
#define SEXTANT_ENGINE_HARDWARE_RATES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/calibration.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// As sextant.v1.RateSource, from best to worst.
enum class RateSource {
  kMeasuredSupplied = 1,  // a calibration of the caller's
  kMeasuredDevice = 2,    // this host's measurement of the named devices themselves
  kMeasuredModel = 3,     // the median of this host's measurements of devices of the same product
  kReference = 4,         // published measurements of the product
  kDatasheet = 5,
  kRequest = 6,  // the caller's figure, unchecked
};

// "measured_supplied".
absl::string_view RateSourceName(RateSource source);

// Attributes that only measured figures have.
struct Measurement {
  absl::optional<double> relative_spread = {};  // absent for figures without samples
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

// Writes the figure described by `rate`. Each method appends it to `out` and returns its value;
// call exactly one of them, once.
class RateWriter {
 public:
  RateWriter(Rate rate, std::vector<Rate>& out) : rate_(std::move(rate)), out_(out) {}

  double FromRequest(double value);
  // `figure` is present. A driver's figure is a reference: somebody read it off such a device.
  double FromDatasheet(const Accelerator& accelerator, const DatasheetValue& figure);

  struct MeasuredFigure {
    double value = 0;
    RateSource source = RateSource::kMeasuredSupplied;
    std::string citation = {};
  };
  double FromMeasurement(const DeviceCalibration& calibration, MeasuredFigure figure);

 private:
  double Write(double value, RateSource source);

  Rate rate_;
  std::vector<Rate>& out_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_RATES_H_
