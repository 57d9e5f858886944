// A calibration for tests, valid in every field; the devices of requests that hold some, and what
// is wrong with one.
#ifndef SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_
#define SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_

#include <functional>
#include <string>
#include <vector>

#include "engine/base/field_violation.h"
#include "server/convert/calibration.h"
#include "server/device/device_finder.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// The calibration of that number in calibrations.textproto.
v1::Calibration CalibrationInFile(int index);

// A processor's calibration: bf16 at 2 x 1000^3 / 0.001 s = 2e12 FLOP/s, fp32 at half of it,
// matmuls[2] a requested shape in fp32 at 3e12, matmuls[3] sustained bf16 at 1.6e12, matmuls[4]
// another one, a batch in fp8; an element in every list, every optional field set. Attention in a
// window of 100 of 1,000 tokens: 100 x 101 / 2 + 900 x 100 = 95,050 pairs, 2 x 128 x 8 FLOPs each.
// Experts: 1,000 rows of 600 weights. Times are of a millisecond.
v1::Calibration SampleCalibration(const std::string& uuid = "CPU-0123456789abcdef");

// Adds a copy of arrays of that size through main memory, which takes a millisecond.
void AddMainMemoryCopy(int64_t array_bytes, v1::Calibration* calibration);

// The calibration of a GPU whose matrix multiplications all take `seconds`.
v1::Calibration CalibrationOfH200(const std::string& uuid, double seconds);

// An hour after SampleCalibration().
inline absl::Time SourcesTime() { return absl::FromUnixSeconds(1'769'864'400); }

// A host without devices.
inline const CalibrationSnapshot& NoHost() {
  static const auto* const host = new CalibrationSnapshot();
  return *host;
}

// The devices of a server on `host`.
inline DeviceFinder FinderOf(SuppliedCalibrations& supplied,
                             const CalibrationSnapshot& host = NoHost(),
                             absl::Time now = SourcesTime()) {
  return DeviceFinder({.supplied = supplied, .host = host, .now = now});
}

// The calibrations of a request's cluster.
inline google::protobuf::RepeatedPtrField<v1::Calibration>& SuppliedTo(
    v1::PlanRunRequest& request) {
  return *request.mutable_cluster()
              ->mutable_device()
              ->mutable_calibrations()
              ->mutable_calibrations();
}

using CalibrationChange = std::function<void(v1::Calibration&)>;

inline v1::Calibration ChangedSample(const CalibrationChange& change) {
  v1::Calibration out = SampleCalibration();
  change(out);
  return out;
}

// Paths start with "c".
inline std::vector<FieldViolation> CalibrationFaults(const v1::Calibration& calibration) {
  FieldViolations violations;
  CheckCalibration(calibration, "c", violations);
  return violations.all();
}

inline std::vector<std::string> FaultyFields(const v1::Calibration& calibration) {
  std::vector<std::string> out;
  for (const FieldViolation& v : CalibrationFaults(calibration)) out.push_back(v.field);
  return out;
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_
