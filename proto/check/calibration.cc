#include "proto/check/calibration.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/check/kernels.h"
#include "proto/matmul_kind.h"

namespace sextant::check {
namespace {

constexpr size_t kMaxSentenceBytes = 1024;
constexpr int64_t kMaxMatmulDimension = 1'000'000;
constexpr int64_t kMaxUnixSeconds = 253'402'300'799;  // 9999-12-31, google.protobuf.Timestamp's
constexpr int64_t kMaxPcieGenerations = 16;
constexpr int64_t kMaxLanes = 64;  // of PCI Express, and of NVLinks
constexpr int64_t kMaxVisibleDevices = 4096;
constexpr int kMaxTexts = 32;  // in a list

constexpr RealRange kWatts = {.low = 0, .high = 1e6, .above_low = true};
constexpr RealRange kRatio = {.low = 0, .high = 1e3, .above_low = true};
constexpr RealRange kIntensity = {.low = 0, .high = 1e6, .above_low = true};
constexpr RealRange kShare = {.low = 0, .high = 1};
constexpr RealRange kDrift = {.low = -1, .high = 1e3};
constexpr RealRange kHertz = {.low = 0, .high = 1e12, .above_low = true};
constexpr RealRange kCelsius = {.low = -100, .high = 300};
constexpr RealRange kCostSeconds = {.low = 0, .high = 1e6};

// Arrays that one pass reads or writes.
double ArraysOf(v1::StreamMeasurement::Operation operation) {
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_COPY:
    case v1::StreamMeasurement::OPERATION_SCALE:
      return 2;
    case v1::StreamMeasurement::OPERATION_TRIAD:
      return 3;
    default:
      return 1;
  }
}

// Checks a calibration, with one method for each kind of message.
class CalibrationChecker {
 public:
  CalibrationChecker(const MessagePath& path, const CalibrationRules& rules, FaultSink sink)
      : check_({.most_faults = rules.most_faults, .rate_tolerance = rules.rate_tolerance}, sink),
        path_(path),
        rules_(rules) {}

  void Check(const v1::Calibration& m);

 private:
  void CheckVersion(int32_t version);
  void CheckDevice(const MessagePath& path, const v1::Device& m);
  void CheckMeasuredTime(const MessagePath& path, const google::protobuf::Timestamp& m);
  void CheckMatmul(const MessagePath& path, const v1::MatmulMeasurement& m);
  void CheckRegister(const MessagePath& path, const v1::RegisterMeasurement& m);
  void CheckStream(const MessagePath& path, const v1::StreamMeasurement& m);
  void CheckElementwise(const MessagePath& path, const v1::ElementwiseMeasurement& m);
  void CheckFusion(const MessagePath& path, const v1::FusionMeasurement& m);
  void CheckLaunch(const MessagePath& path, const v1::LaunchMeasurement& m);
  void CheckMissing(const MessagePath& path, const v1::MissingMeasurements& m);
  void CheckConditions(const MessagePath& path, const v1::OperatingConditions& m);
  void CheckEnvironment(const MessagePath& path, const v1::MeasurementEnvironment& m);
  void CheckLinks(const MessagePath& path, const v1::MeasurementEnvironment& m);
  void CheckGuardCost(const MessagePath& path, const v1::GuardCost& m);
  void CheckKind(const MessagePath& path, const v1::MatmulMeasurement& m);
  void CheckLists(const v1::Calibration& m);

  FieldChecker check_;
  const MessagePath& path_;
  const CalibrationRules& rules_;
  std::set<int> launch_kinds_;
};

void CalibrationChecker::CheckVersion(int32_t version) {
  if (version == kSchemaVersion) return;
  const FieldChecker::Field field = {path_, "schema_version"};
  if (version == 0) {
    check_.Fault(field, absl::StrCat("is required: ", kSchemaVersion));
  } else if (version > kSchemaVersion) {
    check_.Fault(field,
                 absl::StrCat("is ", version, ", newer than ", rules_.reader, ", which reads ",
                              kSchemaVersion, ": use a newer ", rules_.program));
  } else {
    check_.Fault(field, absl::StrCat("must be ", kSchemaVersion, ", not ", version));
  }
}

void CalibrationChecker::CheckDevice(const MessagePath& path, const v1::Device& m) {
  if (!IsUuid(m.uuid())) {
    check_.Fault({path, "uuid"},
                 absl::StrCat("must be 1 to ", kMaxUuidBytes, " letters, digits and dashes"));
  }
  check_.Enum({path, "kind"}, m.kind(), v1::DeviceKind_IsValid(m.kind()));
  check_.Name({path, "product_name"}, m.product_name());
  check_.Text({path, "hostname"}, m.hostname(), kMaxFieldTextBytes);
  check_.Whole({path, "memory_bytes"}, m.memory_bytes(), 1, kMaxByteCount);
  if (m.has_cache_bytes()) check_.Whole({path, "cache_bytes"}, m.cache_bytes(), 1, kMaxByteCount);
  if (m.has_compute_unit_count()) {
    check_.Whole({path, "compute_unit_count"}, m.compute_unit_count(), 1, kMaxCount);
  }
  if (m.has_power_limit_watts()) {
    check_.Real({path, "power_limit_watts"}, m.power_limit_watts(), kWatts);
  }
  check_.Text({path, "pci_bus_id"}, m.pci_bus_id(), kMaxFieldTextBytes);
  check_.Each(path, "instruction_sets", m.instruction_sets(),
              [this](const MessagePath& element, const std::string& name) {
                check_.Text({element, ""}, name, kMaxFieldTextBytes);
              });
}

void CalibrationChecker::CheckMeasuredTime(const MessagePath& path,
                                           const google::protobuf::Timestamp& m) {
  check_.Whole({path, "seconds"}, m.seconds(), kMinUnixSeconds, kMaxUnixSeconds);
  check_.Whole({path, "nanos"}, m.nanos(), 0, 999'999'999);
}

void CalibrationChecker::CheckMatmul(const MessagePath& path, const v1::MatmulMeasurement& m) {
  check_.Type(path, m.data_type());
  check_.Whole({path, "m"}, m.m(), 1, kMaxMatmulDimension);
  check_.Whole({path, "n"}, m.n(), 1, kMaxMatmulDimension);
  check_.Whole({path, "k"}, m.k(), 1, kMaxMatmulDimension);
  check_.Time({path, "time"}, m.has_time(), m.time());
  check_.Whole({path, "batch_count"}, m.batch_count(), 0, kMaxCount);
  const auto batch = static_cast<double>(std::max(m.batch_count(), int64_t{1}));
  const double flops = 2 * batch * static_cast<double>(m.m()) * static_cast<double>(m.n()) *
                       static_cast<double>(m.k());
  check_.Rate({path, "flops_per_second"}, m.flops_per_second(), flops / m.time().median_seconds());
  check_.Name({path, "engine"}, m.engine());
  check_.Text({path, "kernel"}, m.kernel(), kMaxFieldTextBytes);
  if (m.has_register_ratio()) check_.Real({path, "register_ratio"}, m.register_ratio(), kRatio);
  if (m.has_best_flops_per_second()) {
    check_.Real({path, "best_flops_per_second"}, m.best_flops_per_second(), kRate);
  }
  check_.Text({path, "best_kernel"}, m.best_kernel(), kMaxFieldTextBytes);
  if (m.has_sm_clock_hertz()) check_.Real({path, "sm_clock_hertz"}, m.sm_clock_hertz(), kHertz);
  if (m.has_counted_sm_clock_hertz()) {
    check_.Real({path, "counted_sm_clock_hertz"}, m.counted_sm_clock_hertz(), kHertz);
  }
  if (m.has_power_watts()) check_.Real({path, "power_watts"}, m.power_watts(), kWatts);
  if (m.has_clock_limit_ratio()) {
    check_.Real({path, "clock_limit_ratio"}, m.clock_limit_ratio(), kRatio);
  }
  CheckKind(path, m);
}

void CalibrationChecker::CheckKind(const MessagePath& path, const v1::MatmulMeasurement& m) {
  using Matmul = v1::MatmulMeasurement;
  const auto is_known = [&](absl::string_view name, int value, bool known) {
    if (!known) check_.Fault({path, name}, UnknownEnumNumber(value));
    return known;
  };
  const bool layout_known = is_known("layout", m.layout(), Matmul::Layout_IsValid(m.layout()));
  is_known("window", m.window(), Matmul::Window_IsValid(m.window()));
  if (!is_known("purpose", m.purpose(), Matmul::Purpose_IsValid(m.purpose()))) return;
  if (IsSustained(m) && !IsOfGrid(m)) {
    check_.Fault({path, "purpose"}, absl::StrCat("must be PURPOSE_GRID with WINDOW_SUSTAINED, not ",
                                                 Matmul::Purpose_Name(m.purpose())));
  }
  if (IsOther(m)) return;
  // Plans use these rates: a multiplication in another layout, or of a batch, does not count as its
  // shape's rate.
  if (m.batch_count() > 1) {
    check_.Fault({path, "batch_count"}, "must be 0 or 1, except with PURPOSE_OTHER");
  }
  if (layout_known && m.layout() != Matmul::LAYOUT_UNSPECIFIED &&
      m.layout() != Matmul::LAYOUT_ROW_BY_COLUMN) {
    check_.Fault({path, "layout"}, "must be LAYOUT_ROW_BY_COLUMN, except with PURPOSE_OTHER");
  }
}

void CalibrationChecker::CheckRegister(const MessagePath& path, const v1::RegisterMeasurement& m) {
  check_.Type(path, m.data_type());
  check_.Name({path, "instruction"}, m.instruction());
  check_.Real({path, "flops_per_second"}, m.flops_per_second(), kRate);
  check_.Time({path, "time"}, m.has_time(), m.time());
}

void CalibrationChecker::CheckStream(const MessagePath& path, const v1::StreamMeasurement& m) {
  check_.Enum({path, "operation"}, m.operation(),
              v1::StreamMeasurement::Operation_IsValid(m.operation()));
  check_.Whole({path, "array_bytes"}, m.array_bytes(), 1, kMaxByteCount);
  check_.Time({path, "time"}, m.has_time(), m.time());
  const double bytes = ArraysOf(m.operation()) * static_cast<double>(m.array_bytes());
  check_.Rate({path, "bytes_per_second"}, m.bytes_per_second(), bytes / m.time().median_seconds());
}

void CalibrationChecker::CheckElementwise(const MessagePath& path,
                                          const v1::ElementwiseMeasurement& m) {
  check_.Whole({path, "multiply_add_count"}, m.multiply_add_count(), 1, kMaxCount);
  check_.Real({path, "flops_per_byte"}, m.flops_per_byte(), kIntensity);
  const double intensity = 2 * static_cast<double>(m.multiply_add_count()) / 8;
  check_.Agrees({path, "flops_per_byte"}, m.flops_per_byte(), intensity);
  check_.Whole({path, "array_bytes"}, m.array_bytes(), 1, kMaxByteCount);
  check_.Time({path, "time"}, m.has_time(), m.time());
  // Each element is read and written.
  const double bytes_per_second =
      2 * static_cast<double>(m.array_bytes()) / m.time().median_seconds();
  check_.Rate({path, "flops_per_second"}, m.flops_per_second(), intensity * bytes_per_second);
  check_.Rate({path, "bytes_per_second"}, m.bytes_per_second(), bytes_per_second);
}

void CalibrationChecker::CheckFusion(const MessagePath& path, const v1::FusionMeasurement& m) {
  check_.Whole({path, "operation_count"}, m.operation_count(), 2, kMaxCount);
  check_.Whole({path, "array_bytes"}, m.array_bytes(), 1, kMaxByteCount);
  check_.Time({path, "unfused_time"}, m.has_unfused_time(), m.unfused_time());
  check_.Time({path, "fused_time"}, m.has_fused_time(), m.fused_time());
  check_.Real({path, "speedup_ratio"}, m.speedup_ratio(), kRatio);
  check_.Agrees({path, "speedup_ratio"}, m.speedup_ratio(),
                m.unfused_time().median_seconds() / m.fused_time().median_seconds());
}

void CalibrationChecker::CheckLaunch(const MessagePath& path, const v1::LaunchMeasurement& m) {
  check_.Enum({path, "kind"}, m.kind(), v1::LaunchMeasurement::Kind_IsValid(m.kind()));
  if (!launch_kinds_.insert(m.kind()).second) {
    check_.Fault({path, "kind"}, "was given before: give one measurement of each");
  }
  check_.Time({path, "time"}, m.has_time(), m.time());
}

void CalibrationChecker::CheckMissing(const MessagePath& path, const v1::MissingMeasurements& m) {
  check_.Name({path, "phase"}, m.phase());
  check_.Whole({path, "missing_count"}, m.missing_count(), 1, kMaxCount);
  check_.Whole({path, "planned_count"}, m.planned_count(), m.missing_count(), kMaxCount);
}

void CalibrationChecker::CheckConditions(const MessagePath& path,
                                         const v1::OperatingConditions& m) {
  const auto real = [&](absl::string_view name, bool present, double value, RealRange range) {
    if (present) check_.Real({path, name}, value, range);
  };
  check_.Whole({path, "reading_count"}, m.reading_count(), 1, kMaxCount);
  real("sm_clock_hertz", m.has_sm_clock_hertz(), m.sm_clock_hertz(), kHertz);
  real("maximum_sm_clock_hertz", m.has_maximum_sm_clock_hertz(), m.maximum_sm_clock_hertz(),
       kHertz);
  real("power_watts", m.has_power_watts(), m.power_watts(), kWatts);
  real("maximum_temperature_celsius", m.has_maximum_temperature_celsius(),
       m.maximum_temperature_celsius(), kCelsius);
  real("power_throttle_ratio", m.has_power_throttle_ratio(), m.power_throttle_ratio(), kShare);
  real("thermal_throttle_ratio", m.has_thermal_throttle_ratio(), m.thermal_throttle_ratio(),
       kShare);
  real("hardware_throttle_ratio", m.has_hardware_throttle_ratio(), m.hardware_throttle_ratio(),
       kShare);
  if (m.has_peak_allocated_bytes()) {
    check_.Whole({path, "peak_allocated_bytes"}, m.peak_allocated_bytes(), 1, kMaxByteCount);
  }
}

void CalibrationChecker::CheckEnvironment(const MessagePath& path,
                                          const v1::MeasurementEnvironment& m) {
  CheckLinks(path, m);
  const auto real = [&](absl::string_view name, bool present, double value, RealRange range) {
    if (present) check_.Real({path, name}, value, range);
  };
  real("application_sm_clock_hertz", m.has_application_sm_clock_hertz(),
       m.application_sm_clock_hertz(), kHertz);
  real("application_memory_clock_hertz", m.has_application_memory_clock_hertz(),
       m.application_memory_clock_hertz(), kHertz);
  real("default_power_limit_watts", m.has_default_power_limit_watts(),
       m.default_power_limit_watts(), kWatts);
  if (m.has_visible_device_count()) {
    check_.Whole({path, "visible_device_count"}, m.visible_device_count(), 1, kMaxVisibleDevices);
  }
  const auto text = [this](const MessagePath& element, absl::string_view value) {
    check_.Text({element, ""}, value, kMaxFieldTextBytes);
  };
  text(MessagePath(path, "operating_system"), m.operating_system());
  text(MessagePath(path, "kernel_release"), m.kernel_release());
  text(MessagePath(path, "c_library"), m.c_library());
  check_.Each(path, "libraries", m.libraries(), text, kMaxTexts);
  check_.Each(path, "cleared_variables", m.cleared_variables(), text, kMaxTexts);
  if (m.has_guard_cost()) CheckGuardCost(MessagePath(path, "guard_cost"), m.guard_cost());
}

void CalibrationChecker::CheckLinks(const MessagePath& path, const v1::MeasurementEnvironment& m) {
  const auto whole = [&](absl::string_view name, bool present, int64_t value, int64_t most) {
    if (present) check_.Whole({path, name}, value, 1, most);
  };
  whole("pcie_generation", m.has_pcie_generation(), m.pcie_generation(), kMaxPcieGenerations);
  whole("pcie_lane_count", m.has_pcie_lane_count(), m.pcie_lane_count(), kMaxLanes);
  whole("maximum_pcie_generation", m.has_maximum_pcie_generation(), m.maximum_pcie_generation(),
        kMaxPcieGenerations);
  whole("maximum_pcie_lane_count", m.has_maximum_pcie_lane_count(), m.maximum_pcie_lane_count(),
        kMaxLanes);
  whole("nvlink_count", m.has_nvlink_count(), m.nvlink_count(), kMaxLanes);
  if (m.has_active_nvlink_count()) {
    check_.Whole({path, "active_nvlink_count"}, m.active_nvlink_count(), 0, m.nvlink_count());
  }
}

void CalibrationChecker::CheckGuardCost(const MessagePath& path, const v1::GuardCost& m) {
  check_.Whole({path, "reading_count"}, m.reading_count(), 1, kMaxCount);
  check_.Real({path, "total_seconds"}, m.total_seconds(), kCostSeconds);
  check_.Real({path, "longest_seconds"}, m.longest_seconds(), kCostSeconds);
}

void CalibrationChecker::CheckLists(const v1::Calibration& m) {
  const auto by = [this](auto method) {
    return [this, method](const MessagePath& path, const auto& element) {
      (this->*method)(path, element);
    };
  };
  check_.Each(path_, "matmuls", m.matmuls(), by(&CalibrationChecker::CheckMatmul));
  check_.Each(path_, "launches", m.launches(), by(&CalibrationChecker::CheckLaunch));
  check_.Each(path_, "missing", m.missing(), by(&CalibrationChecker::CheckMissing));
  check_.Each(path_, "registers", m.registers(), by(&CalibrationChecker::CheckRegister));
  check_.Each(path_, "streams", m.streams(), by(&CalibrationChecker::CheckStream));
  check_.Each(path_, "elementwise", m.elementwise(), by(&CalibrationChecker::CheckElementwise));
  CheckKernels(m, path_, rules_.limits, check_);
  check_.Each(path_, "notes", m.notes(), [this](const MessagePath& path, const std::string& note) {
    check_.Text({path, ""}, note, kMaxSentenceBytes);
  });
}

void CalibrationChecker::Check(const v1::Calibration& m) {
  CheckVersion(m.schema_version());
  if (m.schema_version() > kSchemaVersion) return;  // its fields may mean something else
  check_.Present({path_, "device"}, m.has_device());
  if (m.has_device()) CheckDevice(MessagePath(path_, "device"), m.device());
  check_.Present({path_, "measured_time"}, m.has_measured_time());
  if (m.has_measured_time()) {
    CheckMeasuredTime(MessagePath(path_, "measured_time"), m.measured_time());
  }
  check_.Name({path_, "probe_version"}, m.probe_version());
  check_.Enum({path_, "mode"}, m.mode(), v1::ProbeMode_IsValid(m.mode()));
  check_.Real({path_, "duration_seconds"}, m.duration_seconds(), kSeconds);
  check_.Real({path_, "coverage_ratio"}, m.coverage_ratio(), kShare);
  if (m.has_drift_ratio()) check_.Real({path_, "drift_ratio"}, m.drift_ratio(), kDrift);
  CheckLists(m);
  if (m.has_ridge_flops_per_byte()) {
    check_.Real({path_, "ridge_flops_per_byte"}, m.ridge_flops_per_byte(), kIntensity);
  }
  if (m.has_fusion()) CheckFusion(MessagePath(path_, "fusion"), m.fusion());
  if (m.has_conditions()) CheckConditions(MessagePath(path_, "conditions"), m.conditions());
  if (m.has_environment()) CheckEnvironment(MessagePath(path_, "environment"), m.environment());
  check_.Whole({path_, "checked_result_count"}, m.checked_result_count(), 1, kMaxCount);
}

}  // namespace

bool IsUuid(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxUuidBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return c == '-' || absl::ascii_isalnum(static_cast<unsigned char>(c));
         });
}

void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      const CalibrationRules& rules, FaultSink sink) {
  const MessagePath root(path);
  CalibrationChecker(root, rules, sink).Check(calibration);
}

}  // namespace sextant::check
