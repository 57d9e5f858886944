#include "gpu_probe/health/sound.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/enum_text.h"

namespace sextant {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int64_t kClockSkewSeconds = 300;
constexpr int64_t kFirstUnixSeconds = 946'684'800;  // 2000-01-01: before it a clock is not set
constexpr size_t kMaximumUuidBytes = 80;
constexpr double kMaximumRate = 1e18;
// Rates are computed from the times beside them; JSON keeps all their digits.
constexpr double kAgreement = 1e-3;

absl::Status Fault(absl::string_view what, absl::string_view fault) {
  return absl::DataLossError(absl::StrCat(what, " ", fault));
}

bool IsTime(double seconds) { return std::isfinite(seconds) && seconds > 0; }

bool IsUuid(absl::string_view text) {
  return !text.empty() && text.size() <= kMaximumUuidBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return c == '-' || absl::ascii_isalnum(static_cast<unsigned char>(c));
         });
}

// A rate in `name`, of `work` done in the median of `time`.
struct RateOfWork {
  std::string name;
  const v1::TimeStatistics& time;
  double rate = 0;
  double work = 0;
};

absl::Status CheckRateAlone(const std::string& name, const v1::TimeStatistics& t, double rate) {
  if (!std::isfinite(rate) || rate < 1 || rate > kMaximumRate) {
    return Fault(name, absl::StrCat("has the rate ", rate, ", which none can have"));
  }
  const bool ordered =
      t.p10_seconds() <= t.median_seconds() && t.median_seconds() <= t.p90_seconds();
  if (!IsTime(t.median_seconds()) || !IsTime(t.p10_seconds()) || !IsTime(t.p90_seconds()) ||
      !ordered || t.sample_count() < 1) {
    return Fault(name, "has no time that makes sense");
  }
  return absl::OkStatus();
}

absl::Status CheckRate(const RateOfWork& r) {
  const v1::TimeStatistics& t = r.time;
  SEXTANT_RETURN_IF_ERROR(CheckRateAlone(r.name, t, r.rate));
  if (!(std::abs(r.rate * t.median_seconds() / r.work - 1) <= kAgreement)) {
    return Fault(r.name, absl::StrCat("has the rate ", r.rate, ", but its time gives ",
                                      r.work / t.median_seconds()));
  }
  return absl::OkStatus();
}

absl::Status CheckMatmul(const v1::MatmulMeasurement& m) {
  const std::string name =
      absl::StrCat("matmul ", EnumText(m.data_type()), " ", m.m(), "x", m.n(), "x", m.k());
  if (m.m() < 1 || m.n() < 1 || m.k() < 1) return Fault(name, "is no shape");
  if (m.has_register_ratio() && !IsTime(m.register_ratio())) {
    return Fault(name, "has a register_ratio that none can have");
  }
  const double flops = 2 * static_cast<double>(std::max(m.batch_count(), int64_t{1})) *
                       static_cast<double>(m.m()) * static_cast<double>(m.n()) *
                       static_cast<double>(m.k());
  return CheckRate({.name = name, .time = m.time(), .rate = m.flops_per_second(), .work = flops});
}

// Where a figure is told, it has to be one.
absl::Status CheckConditions(const v1::OperatingConditions& c) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  if ((c.has_sm_clock_hertz() && !IsTime(c.sm_clock_hertz())) ||
      (c.has_maximum_sm_clock_hertz() && !IsTime(c.maximum_sm_clock_hertz()))) {
    return absl::DataLossError("its conditions have a clock that none can have");
  }
  if (c.has_power_watts() && !IsTime(c.power_watts())) {
    return absl::DataLossError("its conditions have a power that none can have");
  }
  if (!is_share(c.power_throttle_ratio()) || !is_share(c.thermal_throttle_ratio()) ||
      !is_share(c.hardware_throttle_ratio())) {
    return absl::DataLossError("its conditions have a throttle_ratio that is none");
  }
  return absl::OkStatus();
}

absl::Status CheckRates(const v1::Calibration& calibration) {
  for (const auto& m : calibration.matmuls()) SEXTANT_RETURN_IF_ERROR(CheckMatmul(m));
  for (const auto& m : calibration.sustained_matmuls()) SEXTANT_RETURN_IF_ERROR(CheckMatmul(m));
  for (const auto& m : calibration.other_matmuls()) SEXTANT_RETURN_IF_ERROR(CheckMatmul(m));
  for (const v1::RegisterMeasurement& r : calibration.registers()) {
    if (std::isfinite(r.flops_per_second()) && r.flops_per_second() >= 1) continue;
    return Fault(absl::StrCat("registers ", EnumText(r.data_type())), "have no rate");
  }
  for (const v1::StreamMeasurement& s : calibration.streams()) {
    const bool copies = s.operation() == v1::StreamMeasurement::OPERATION_COPY ||
                        s.operation() == v1::StreamMeasurement::OPERATION_SCALE;
    const bool triad = s.operation() == v1::StreamMeasurement::OPERATION_TRIAD;
    const double arrays = triad ? 3 : copies ? 2 : 1;
    SEXTANT_RETURN_IF_ERROR(CheckRate({.name = EnumText(s.operation()),
                                       .time = s.time(),
                                       .rate = s.bytes_per_second(),
                                       .work = arrays * static_cast<double>(s.array_bytes())}));
  }
  for (const v1::ElementwiseMeasurement& e : calibration.elementwise()) {
    const double bytes = 2 * static_cast<double>(e.array_bytes());
    const std::string name = absl::StrCat("elementwise with ", e.multiply_add_count());
    SEXTANT_RETURN_IF_ERROR(
        CheckRate({.name = name, .time = e.time(), .rate = e.bytes_per_second(), .work = bytes}));
    const double flops = bytes * static_cast<double>(e.multiply_add_count()) / 4;
    SEXTANT_RETURN_IF_ERROR(
        CheckRate({.name = name, .time = e.time(), .rate = e.flops_per_second(), .work = flops}));
  }
  return absl::OkStatus();
}

// Nothing judges these yet; a calibration with nonsense in it is damaged all the same.
absl::Status CheckKernels(const v1::Calibration& calibration) {
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    SEXTANT_RETURN_IF_ERROR(CheckRateAlone(absl::StrCat("attention ", EnumText(m.pass())), m.time(),
                                           m.flops_per_second()));
  }
  for (const v1::ExpertsMeasurement& m : calibration.experts()) {
    SEXTANT_RETURN_IF_ERROR(CheckRateAlone("layer of experts", m.time(), m.flops_per_second()));
  }
  for (const v1::CollectiveMeasurement& m : calibration.collectives()) {
    SEXTANT_RETURN_IF_ERROR(
        CheckRateAlone(EnumText(m.operation()), m.time(), m.bus_bytes_per_second()));
  }
  for (const v1::LaunchMeasurement& m : calibration.launches()) {
    const double starts_per_second = 1 / m.time().median_seconds();
    SEXTANT_RETURN_IF_ERROR(CheckRateAlone(absl::StrCat("launch by ", EnumText(m.kind())), m.time(),
                                           starts_per_second));
  }
  for (const v1::HostCopyMeasurement& m : calibration.host_copies()) {
    SEXTANT_RETURN_IF_ERROR(CheckRate({.name = EnumText(m.direction()),
                                       .time = m.time(),
                                       .rate = m.bytes_per_second(),
                                       .work = static_cast<double>(m.size_bytes())}));
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const v1::Device& device) {
  if (!IsUuid(device.uuid())) return absl::DataLossError("it names no device");
  if (device.product_name().empty()) return absl::DataLossError("its device has no product_name");
  const double watts = device.power_limit_watts();
  if (device.has_power_limit_watts() && !(std::isfinite(watts) && watts > 0)) {
    return absl::DataLossError(absl::StrCat("a power limit of ", watts, " W makes no sense"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSound(const v1::Calibration& calibration, int64_t now_unix_seconds) {
  if (calibration.schema_version() > kSchemaVersion) {
    return absl::UnimplementedError(absl::StrCat("it has schema version ",
                                                 calibration.schema_version(), ", newer than ",
                                                 kSchemaVersion, ": use a newer sextant-probe"));
  }
  if (calibration.schema_version() < kSchemaVersion) {
    return absl::DataLossError("it has no schema version, so it is no calibration");
  }
  SEXTANT_RETURN_IF_ERROR(CheckDevice(calibration.device()));
  const int64_t measured_seconds = calibration.measured_time().seconds();
  if (measured_seconds < kFirstUnixSeconds) {
    return absl::DataLossError("it does not say when it was measured");
  }
  if (measured_seconds > now_unix_seconds + kClockSkewSeconds) {
    return absl::DataLossError(absl::StrCat("it is from the future, by ",
                                            measured_seconds - now_unix_seconds,
                                            " s: set this host's clock, or that one's"));
  }
  const double coverage = calibration.coverage_ratio();
  if (!(coverage >= 0 && coverage <= 1)) {
    return absl::DataLossError(absl::StrCat("a coverage_ratio of ", coverage, " makes no sense"));
  }
  if (calibration.checked_result_count() < 1) {
    return absl::DataLossError("no result of it was checked");
  }
  SEXTANT_RETURN_IF_ERROR(CheckRates(calibration));
  SEXTANT_RETURN_IF_ERROR(CheckConditions(calibration.conditions()));
  return CheckKernels(calibration);
}

}  // namespace sextant
