// sextant.v1.HardwareService.
#ifndef SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_

#include "server/call/service.h"
#include "server/call/stream_call.h"
#include "server/call/worker_pool.h"
#include "server/device/device_finder.h"
#include "server/metrics/metrics.h"
#include "server/probe/host_probe.h"
#include "server/store/calibration_store.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

class HardwareService final : public Service {
 public:
  struct Dependencies {
    Metrics& metrics;
    CallRules calls;
    const CalibrationStore& store;
    SuppliedCalibrations& supplied;
    HostProbe& probe;
    WorkerPool& workers;           // answers requests that take milliseconds
    FleetReader* fleet = nullptr;  // null: no fleet's metrics are read
  };
  // All of `dependencies` outlive the service.
  explicit HardwareService(const Dependencies& dependencies);

  void ListAccelerators(Method& method, UnaryTransport& transport);
  void ListDevices(Method& method, UnaryTransport& transport);
  void GetCalibration(Method& method, UnaryTransport& transport);
  void GetKernelRates(Method& method, UnaryTransport& transport);
  void ListNodeTypes(Method& method, UnaryTransport& transport);
  void GetLinkTimes(Method& method, UnaryTransport& transport);
  std::unique_ptr<StreamCall> RunProbe(Method& method, StreamTransport& transport);

 private:
  // Calls `then` once: on a worker when the host's devices are listed, or with the error of listing
  // them.
  void PostOnceListed(const Call& call, std::function<void(const absl::Status&)> then);
  DeviceFinder FinderOf(const CalibrationSnapshot& host) const;

  const CalibrationStore& store_;
  SuppliedCalibrations& supplied_;
  HostProbe& probe_;
  WorkerPool& workers_;
  FleetReader* const fleet_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_
