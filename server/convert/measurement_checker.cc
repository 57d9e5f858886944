#include "server/convert/measurement_checker.h"

namespace sextant {
namespace {

constexpr FieldViolations::RealRange kSpread = {.low = 0, .high = 1e3};

}  // namespace

void MeasurementChecker::Name(FieldChecker::Field field, const std::string& text) {
  check_.Present(field, !text.empty());
  check_.Text(field, text, kMostNameBytes);
}

void MeasurementChecker::Type(const MessagePath& path, v1::DataType type) {
  check_.Enum({path, "data_type"}, type, v1::DataType_IsValid(type));
}

void MeasurementChecker::Time(const MessagePath& path, absl::string_view name, bool present,
                              const v1::TimeStatistics& m) {
  check_.Present({path, name}, present);
  if (present) Of(MessagePath(path, name), m);
}

void MeasurementChecker::RateOf(FieldChecker::Field field, double rate, double expected) {
  check_.Real(field, rate, kRate);
  check_.Agrees(field, rate, expected);
}

void MeasurementChecker::Of(const MessagePath& path, const v1::TimeStatistics& m) {
  check_.Real({path, "median_seconds"}, m.median_seconds(), kSeconds);
  check_.Real({path, "relative_spread"}, m.relative_spread(), kSpread);
  check_.Real({path, "p10_seconds"}, m.p10_seconds(), kSeconds);
  check_.Real({path, "p90_seconds"}, m.p90_seconds(), kSeconds);
  if (m.p10_seconds() > m.median_seconds()) {
    check_.Fault({path, "p10_seconds"}, "must not be above median_seconds");
  }
  if (m.p90_seconds() < m.median_seconds()) {
    check_.Fault({path, "p90_seconds"}, "must not be below median_seconds");
  }
  check_.Whole({path, "sample_count"}, m.sample_count(), 1, kMaxCount);
  check_.Whole({path, "repetition_count"}, m.repetition_count(), 1, kMaxCount);
}

}  // namespace sextant
