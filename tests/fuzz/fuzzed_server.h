// A whole server without a socket.
#ifndef SEXTANT_TESTS_FUZZ_FUZZED_SERVER_H_
#define SEXTANT_TESTS_FUZZ_FUZZED_SERVER_H_

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <prometheus/registry.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/call/calls_under_way.h"
#include "server/call/grpc_service.h"
#include "server/call/worker_pool.h"
#include "server/handler/accounting_service.h"
#include "server/handler/hardware_service.h"
#include "server/handler/planning_service.h"
#include "server/handler/telemetry_service.h"
#include "server/metrics/metrics.h"
#include "server/metrics/probe_metrics.h"
#include "server/probe/host_probe.h"
#include "server/store/calibration_store.h"
#include "server/store/supplied_calibrations.h"
#include "server/telemetry/job_progress.h"
#include "tests/server/fake_probe.h"

namespace sextant::server {

// All services, on a host with one device, SampleCalibration()'s, whose measurements it holds.
// Its probe starts no program: RunProbe ends with PROBE_CANCELLED, once it would start one.
class FuzzedServer {
 public:
  FuzzedServer();

  struct Answer {
    grpc::Status status;
    std::vector<std::string> messages;
  };
  // Calls `path`, e.g. "/sextant.v1.PlanningService/PlanRun", with a deadline of 0.3 s, and
  // returns once the handler is done, too; aborts where it works on for 20 s.
  Answer Call(const std::string& path, const std::string& request);

 private:
  // For the program that lists the device; removed after it has.
  std::unique_ptr<TemporaryFolder> folder_ = std::make_unique<TemporaryFolder>();
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  ProbeMetrics probe_metrics_;
  CalibrationStore store_;
  SuppliedCalibrations supplied_;
  HostProbe probe_;
  CallsUnderWay under_way_;
  WorkerPool workers_{WorkerPoolOptions{.threads = 1}};
  WorkerPool searches_{WorkerPoolOptions{.threads = 1}};
  AccountingService accounting_;
  PlanningService planning_;
  HardwareService hardware_;
  JobProgress jobs_;
  TelemetryService telemetry_;
  std::deque<GrpcService> grpc_services_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_FUZZ_FUZZED_SERVER_H_
