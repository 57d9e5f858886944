#include "engine/hardware/rates.h"

#include "engine/base/fingerprint.h"

namespace sextant {
namespace {

void AddMeasurement(const Measurement& measured, Fingerprint& fingerprint) {
  fingerprint.Add("measured");
  if (measured.relative_spread.has_value()) {
    fingerprint.Add("spread");
    fingerprint.Add(*measured.relative_spread);
  }
  if (measured.stable.has_value()) fingerprint.Add(*measured.stable ? "stable" : "unstable");
  fingerprint.Add(static_cast<double>(measured.unix_seconds));  // below 2^53: exact
  fingerprint.Add(measured.device_uuid);
  fingerprint.Add(measured.calibration_fingerprint);
}

}  // namespace

absl::string_view RateSourceName(RateSource source) {
  switch (source) {
    case RateSource::kMeasuredSupplied:
      return "measured_supplied";
    case RateSource::kMeasuredDevice:
      return "measured_device";
    case RateSource::kMeasuredModel:
      return "measured_model";
    case RateSource::kReference:
      return "reference";
    case RateSource::kDatasheet:
      return "datasheet";
    case RateSource::kRequest:
      return "request";
  }
  return "unknown";
}

std::string RatesFingerprint(absl::Span<const Rate> rates) {
  Fingerprint fingerprint;
  for (const Rate& rate : rates) {
    fingerprint.AddLong(rate.quantity);
    fingerprint.AddLong(DataTypeName(rate.data_type));
    fingerprint.Add(rate.value);
    fingerprint.AddLong(rate.unit);
    fingerprint.AddLong(RateSourceName(rate.source));
    fingerprint.AddLong(rate.citation);
    fingerprint.AddLong(rate.device);
    if (rate.measured.has_value()) AddMeasurement(*rate.measured, fingerprint);
  }
  return fingerprint.ToString();
}

double RateWriter::FromRequest(double value) {
  rate_.citation = "given in the request";
  return Write(value, RateSource::kRequest);
}

double RateWriter::FromDatasheet(const Accelerator& accelerator, const DatasheetValue& figure) {
  rate_.citation = SourceOf(accelerator, figure);
  return Write(figure.value, figure.source == FigureSource::kDriver ? RateSource::kReference
                                                                    : RateSource::kDatasheet);
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
