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

 private:
  absl::Status ListDevices(const CallContext& context, const v1::ListDevicesRequest& request,
                           v1::ListDevicesResponse* response);
  absl::Status GetCalibration(const CallContext& context, const v1::GetCalibrationRequest& request,
                              v1::GetCalibrationResponse* response);
  absl::Status GetKernelRates(const CallContext& context, const v1::GetKernelRatesRequest& request,
                              v1::GetKernelRatesResponse* response);
  absl::Status GetLinkTimes(const CallContext& context, const v1::GetLinkTimesRequest& request,
                            v1::GetLinkTimesResponse* response);
  std::unique_ptr<StreamCall> RunProbe(Method& method, StreamTransport& transport);
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
