#include "server/handler/hardware_service.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "server/call/call.h"
#include "server/call/call_end.h"
#include "server/call/stream_call.h"
#include "server/call/worker_pool.h"
#include "server/convert/accelerator.h"
#include "server/device/device_finder.h"
#include "server/handler/device_answers.h"
#include "server/handler/link_times_answer.h"

namespace sextant::server {
namespace {

absl::Status ListAccelerators(const v1::ListAcceleratorsRequest& request,
                              v1::ListAcceleratorsResponse* response) {
  if (request.has_name()) {
    SEXTANT_ASSIGN_OR_RETURN(const Accelerator* accelerator, FindAccelerator(request.name()));
    AcceleratorTo(*accelerator, response->add_accelerators());
  } else {
    for (const Accelerator& a : Accelerators()) AcceleratorTo(a, response->add_accelerators());
  }
  return absl::OkStatus();
}

}  // namespace

HardwareService::HardwareService(const Dependencies& d)
    : store_(d.store),
      supplied_(d.supplied),
      probe_(d.probe),
      workers_(d.workers),
      fleet_(d.fleet),
      list_accelerators_("sextant.v1.HardwareService/ListAccelerators", d.metrics, d.calls),
      list_devices_("sextant.v1.HardwareService/ListDevices", d.metrics, d.calls),
      get_calibration_("sextant.v1.HardwareService/GetCalibration", d.metrics, d.calls),
      get_kernel_rates_("sextant.v1.HardwareService/GetKernelRates", d.metrics, d.calls),
      list_node_types_("sextant.v1.HardwareService/ListNodeTypes", d.metrics, d.calls),
      get_link_times_("sextant.v1.HardwareService/GetLinkTimes", d.metrics, d.calls),
      run_probe_("sextant.v1.HardwareService/RunProbe", d.metrics, d.calls) {}

void HardwareService::PostOnceListed(const Call& call,
                                     std::function<void(const absl::Status&)> then) {
  probe_.WhenListed([this, &call, then](const absl::Status& listed) mutable {
    if (!listed.ok()) return then(listed);
    PostCall(call, workers_, std::move(then));
  });
}

grpc::ServerUnaryReactor* HardwareService::ListAccelerators(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  return AnswerInline<v1::ListAcceleratorsRequest, v1::ListAcceleratorsResponse>(
      list_accelerators_, context, request, response, server::ListAccelerators);
}

grpc::ServerUnaryReactor* HardwareService::ListDevices(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return AnswerAfter<v1::ListDevicesRequest, v1::ListDevicesResponse>(
      list_devices_, context, request, response,
      [this](const auto&, const Call&, auto then) { probe_.WhenListed(std::move(then)); },
      [this](const v1::ListDevicesRequest&, v1::ListDevicesResponse* out) {
        AnswerListDevices(*store_.snapshot(), std::chrono::system_clock::now(), out);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* HardwareService::GetCalibration(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return AnswerAfter<v1::GetCalibrationRequest, v1::GetCalibrationResponse>(
      get_calibration_, context, request, response,
      [this](const auto&, const Call&, auto then) { probe_.WhenListed(std::move(then)); },
      [this](const v1::GetCalibrationRequest& in, v1::GetCalibrationResponse* out) {
        return AnswerGetCalibration(in, *store_.snapshot(), std::chrono::system_clock::now(), out);
      });
}

// Models are fitted to what was measured: milliseconds for each data type.
grpc::ServerUnaryReactor* HardwareService::GetKernelRates(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return AnswerAfter<v1::GetKernelRatesRequest, v1::GetKernelRatesResponse>(
      get_kernel_rates_, context, request, response,
      [this](const v1::GetKernelRatesRequest& in, const Call& call, auto then) {
        if (in.device().has_host_devices()) return PostOnceListed(call, std::move(then));
        AfterFleet(fleet_, {&in.device()},
                   [this, &call, then] { PostCall(call, workers_, std::move(then)); });
      },
      [this, context](const v1::GetKernelRatesRequest& in, v1::GetKernelRatesResponse* out) {
        const auto host = store_.snapshot();
        const auto end = [context] { return EndAfterTurn(*context); };
        CallWork work(end);
        return AnswerKernelRates(in, FinderOf(*host), work, out);
      });
}

grpc::ServerUnaryReactor* HardwareService::ListNodeTypes(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request,
                                                         grpc::ByteBuffer* response) {
  return AnswerInline<v1::ListNodeTypesRequest, v1::ListNodeTypesResponse>(
      list_node_types_, context, request, response, AnswerListNodeTypes);
}

// A few hundred times take microseconds; measurements are read and joined in milliseconds.
grpc::ServerUnaryReactor* HardwareService::GetLinkTimes(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return AnswerAfter<v1::GetLinkTimesRequest, v1::GetLinkTimesResponse>(
      get_link_times_, context, request, response,
      [this](const v1::GetLinkTimesRequest& in, const Call& call, auto then) {
        if (in.nodes().device().has_host_devices()) {
          PostOnceListed(call, std::move(then));
        } else if (in.nodes().device().has_calibrations()) {
          PostCall(call, workers_, std::move(then));
        } else {
          AfterFleet(fleet_, {&in.nodes().device()}, [then] { then(absl::OkStatus()); });
        }
      },
      [this](const v1::GetLinkTimesRequest& in, v1::GetLinkTimesResponse* out) {
        const auto host = store_.snapshot();
        return AnswerLinkTimes(in, FinderOf(*host), out);
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* HardwareService::RunProbe(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  ProbeJob job;
  job.cancellation = std::make_shared<Cancellation>();
  auto* call = new StreamCall(run_probe_, context, request->Length(),
                              [cancellation = job.cancellation] { cancellation->Cancel(); });
  job.send = [call](const v1::RunProbeResponse& response) {
    call->Send(response, response.has_progress()).IgnoreError();
  };
  job.end = [call](const absl::Status& status) { call->End(status); };
  call->WhenReadable([this, call, request, job]() mutable {
    absl::Status readable = call->admission();
    if (readable.ok()) readable = Decode(*request, &job.request);
    if (!readable.ok()) return call->End(readable);
    probe_.Run(std::move(job));
  });
  return call;
}

DeviceFinder HardwareService::FinderOf(const CalibrationSnapshot& host) const {
  return DeviceFinder({.supplied = supplied_, .host = host, .now = absl::Now(), .fleet = fleet_});
}

}  // namespace sextant::server
