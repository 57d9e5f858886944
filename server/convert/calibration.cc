#include "server/convert/calibration.h"

#include <utility>

#include "engine/base/fingerprint.h"
#include "engine/hardware/reported_names.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/enums.h"
#include "server/convert/field_checker.h"

namespace sextant {
namespace {

using Matmuls = google::protobuf::RepeatedPtrField<v1::MatmulMeasurement>;

std::string FingerprintOfBytes(const v1::Calibration& calibration) {
  // No maps and one version of protobuf a build: the bytes depend on the fields alone.
  Fingerprint fingerprint;
  fingerprint.AddLong(calibration.SerializeAsString());
  return fingerprint.ToString();
}

void ConsiderAll(const Matmuls& matmuls, bool sustained, DeviceCalibration& out) {
  for (const v1::MatmulMeasurement& m : matmuls) {
    if (m.requested()) {
      ++out.requested_matmul_count;
      continue;
    }
    FieldViolations checked_before;
    out.Consider({.data_type = DataTypeFrom(m.data_type(), "", checked_before),
                  .m = m.m(),
                  .n = m.n(),
                  .k = m.k(),
                  .rate = FlopsPerSecond(m.flops_per_second()),
                  .relative_spread = m.time().relative_spread(),
                  .sample_count = m.time().sample_count(),
                  .stable = m.time().stable(),
                  .sustained = sustained,
                  .engine = m.engine()});
  }
}

MeasuredPass PassOf(const v1::TimeStatistics& time, double per_second, int64_t array_bytes) {
  return {.per_second = per_second,
          .array_bytes = array_bytes,
          .relative_spread = time.relative_spread(),
          .sample_count = time.sample_count(),
          .stable = time.stable()};
}

void ConsiderPasses(const v1::Calibration& calibration, DeviceCalibration& out) {
  for (const v1::StreamMeasurement& s : calibration.streams()) {
    if (!s.main_memory() || s.operation() != v1::StreamMeasurement::OPERATION_COPY) continue;
    out.ConsiderCopy(PassOf(s.time(), s.bytes_per_second(), s.array_bytes()));
  }
  for (const v1::ElementwiseMeasurement& e : calibration.elementwise()) {
    MeasuredPass pass = PassOf(e.time(), e.flops_per_second(), e.array_bytes());
    pass.multiply_adds = e.multiply_add_count();
    out.ConsiderElementwise(pass);
  }
}

}  // namespace

std::string CalibrationFingerprint(const v1::Calibration& calibration) {
  if (!IsAnnotated(calibration)) return FingerprintOfBytes(calibration);
  v1::Calibration measured = calibration;
  ClearAnnotations(&measured);
  return FingerprintOfBytes(measured);
}

DeviceCalibration DeviceCalibrationFrom(const v1::Calibration& calibration,
                                        std::string fingerprint) {
  const v1::Device& device = calibration.device();
  DeviceCalibration out;
  out.uuid = device.uuid();
  out.product_name = device.product_name();
  out.processor = device.kind() == v1::DEVICE_KIND_CPU;
  out.accelerator = AcceleratorReportedAs(device.product_name());
  out.memory = Bytes(device.memory_bytes());
  out.compute_unit_count = device.compute_unit_count();
  out.measured_unix_seconds = calibration.measured_time().seconds();
  out.probe_version = calibration.probe_version();
  out.fingerprint = std::move(fingerprint);
  out.coverage_ratio = calibration.coverage_ratio();
  ConsiderAll(calibration.matmuls(), false, out);
  ConsiderAll(calibration.sustained_matmuls(), true, out);
  ConsiderPasses(calibration, out);
  return out;
}

DeviceCalibration CheckedCalibrationFrom(const v1::Calibration& calibration, absl::string_view path,
                                         FieldViolations& violations) {
  if (FieldChecker(violations).IsFull()) return {};
  const size_t faults_before = violations.all().size();
  CheckCalibration(calibration, path, violations);
  if (violations.all().size() > faults_before) return {};
  return DeviceCalibrationFrom(calibration, CalibrationFingerprint(calibration));
}

}  // namespace sextant
