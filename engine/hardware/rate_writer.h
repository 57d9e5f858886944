// Writes down a figure that is used, from whichever source has it.
#ifndef SEXTANT_ENGINE_HARDWARE_RATE_WRITER_H_
#define SEXTANT_ENGINE_HARDWARE_RATE_WRITER_H_

#include <string>
#include <utility>
#include <vector>

#include "engine/hardware/accelerator.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/rates.h"

namespace sextant {

// One figure: `rate` says which, of which device. Each method appends it to `out` and returns its
// value; one of them is called, once.
class RateWriter {
 public:
  RateWriter(Rate rate, std::vector<Rate>& out) : rate_(std::move(rate)), out_(out) {}

  double FromRequest(double value);
  // `figure` is present.
  double FromDatasheet(const Accelerator& accelerator, const Figure& figure);

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

#endif  // SEXTANT_ENGINE_HARDWARE_RATE_WRITER_H_
