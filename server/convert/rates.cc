#include "server/convert/rates.h"

#include <string>

#include "absl/strings/string_view.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

void MeasurementTo(const Measurement& measured, v1::RateUsed* out) {
  if (measured.relative_spread.has_value()) out->set_relative_spread(*measured.relative_spread);
  if (measured.stable.has_value()) out->set_stable(*measured.stable);
  out->mutable_measured_time()->set_seconds(measured.unix_seconds);
  out->set_device_uuid(Text(measured.device_uuid));
  out->set_calibration_fingerprint(Text(measured.calibration_fingerprint));
}

}  // namespace

void RateTo(const Rate& rate, SourceNumbers& sources, v1::RateUsed* out) {
  out->set_quantity(Text(rate.quantity));
  out->set_data_type(DataTypePair::To(rate.data_type));
  out->set_value(rate.value);
  out->set_unit(Text(rate.unit));
  out->set_source(RateSourcePair::To(rate.source));
  out->set_source_number(sources.Of(rate.citation));
  out->set_device(Text(rate.device));
  if (rate.measured.has_value()) MeasurementTo(*rate.measured, out);
}

void FleetTo(const FleetRates& fleet, v1::FleetCoverage* out) {
  out->set_device_count(fleet.models.empty() ? 0 : fleet.device_count);
  out->set_host_count(fleet.models.empty() ? 0 : fleet.host_count);
  if (fleet.oldest_unix_seconds > 0) {
    out->mutable_oldest_measured_time()->set_seconds(fleet.oldest_unix_seconds);
  }
  if (!fleet.models.empty()) out->set_source(RateSourcePair::To(fleet.source));
  for (const std::string& uuid : fleet.unhealthy) out->add_unhealthy_devices(uuid);
  out->set_missing(fleet.missing);
  if (fleet.unread_seconds.has_value()) out->set_unread_seconds(*fleet.unread_seconds);
  out->set_failure(fleet.failure);
}

RateRequirement RateRequirementFrom(const v1::RateRequirement& wire, absl::string_view path,
                                    FieldViolations& violations) {
  RateRequirement out;
  out.minimum_source =
      RateSourcePair::Find(wire.minimum_source(), {path, "minimum_source"}, violations);
  if (!wire.has_maximum_age()) return out;
  out.maximum_age_seconds =
      SecondsFrom(wire.maximum_age(), FieldPath(path, "maximum_age"), violations);
  return out;
}

}  // namespace sextant::server
