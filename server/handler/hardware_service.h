// sextant.v1.HardwareService.
#ifndef SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_

#include "server/call/call.h"
#include "server/call/worker_pool.h"
#include "server/device/device_finder.h"
#include "server/metrics/metrics.h"
#include "server/probe/host_probe.h"
#include "server/store/calibration_store.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::server {

// Every method on bytes; see AnswerAfter().
using RawHardwareService = v1::HardwareService::WithRawCallbackMethod_ListAccelerators<
    v1::HardwareService::WithRawCallbackMethod_ListDevices<
        v1::HardwareService::WithRawCallbackMethod_GetCalibration<
            v1::HardwareService::WithRawCallbackMethod_GetKernelRates<
                v1::HardwareService::WithRawCallbackMethod_ListNodeTypes<
                    v1::HardwareService::WithRawCallbackMethod_GetLinkTimes<
                        v1::HardwareService::WithRawCallbackMethod_RunProbe<
                            v1::HardwareService::Service>>>>>>>;

class HardwareService final : public RawHardwareService {
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

  grpc::ServerUnaryReactor* ListAccelerators(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetCalibration(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetKernelRates(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListNodeTypes(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetLinkTimes(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* RunProbe(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) override;

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
  Method list_accelerators_;
  Method list_devices_;
  Method get_calibration_;
  Method get_kernel_rates_;
  Method list_node_types_;
  Method get_link_times_;
  Method run_probe_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_HARDWARE_SERVICE_H_
