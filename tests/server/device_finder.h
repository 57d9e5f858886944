// The devices that requests of tests name.
#ifndef SEXTANT_TESTS_SERVER_DEVICE_FINDER_H_
#define SEXTANT_TESTS_SERVER_DEVICE_FINDER_H_

#include "server/device/device_finder.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

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

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_DEVICE_FINDER_H_
