#include "engine/hardware/rate_writer.h"

namespace sextant {

double RateWriter::FromRequest(double value) {
  rate_.citation = "given in the request";
  return Write(value, RateSource::kRequest);
}

double RateWriter::FromDatasheet(const Accelerator& accelerator, const Figure& figure) {
  rate_.citation = SourceOf(accelerator, figure);
  return Write(figure.value, RateSource::kDatasheet);
}

double RateWriter::FromMeasurement(const DeviceCalibration& calibration, MeasuredFigure figure) {
  rate_.citation = std::move(figure.citation);
  if (!rate_.measured.has_value()) rate_.measured.emplace();
  rate_.measured->unix_seconds = calibration.measured_unix_seconds;
  rate_.measured->device_uuid = calibration.uuid;
  rate_.measured->calibration_fingerprint = calibration.fingerprint;
  return Write(figure.value, figure.source);
}

double RateWriter::Write(double value, RateSource source) {
  rate_.value = value;
  rate_.source = source;
  out_.push_back(std::move(rate_));
  return value;
}

}  // namespace sextant
