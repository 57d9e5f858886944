#include "server/handler/hardware_service.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "server/call/call.h"
#include "server/call/stream_call.h"
#include "server/call/worker_pool.h"
#include "server/convert/accelerator.h"
#include "server/device/device_finder.h"
#include "server/handler/device_answers.h"
#include "server/handler/link_times_answer.h"
#include "server/handler/on_worker.h"

namespace sextant::server {
namespace {

absl::Status ListAccelerators(const v1::ListAcceleratorsRequest& request,
                              v1::ListAcceleratorsResponse* response) {
  if (request.has_name()) {
    const absl::StatusOr<const Accelerator*> accelerator = FindAccelerator(request.name());
    if (!accelerator.ok()) return WithField(accelerator.status(), "name");
    AcceleratorTo(**accelerator, response->add_accelerators());
  } else {
    for (const Accelerator& a : Accelerators()) AcceleratorTo(a, response->add_accelerators());
  }
  return absl::OkStatus();
}

}  // namespace

HardwareService::HardwareService(const Dependencies& d)
    : Service("sextant.v1.HardwareService", d.metrics, d.calls),
      store_(d.store),
      supplied_(d.supplied),
      probe_(d.probe),
      workers_(d.workers),
      fleet_(d.fleet) {
  const auto once_listed = [this](const auto&, const Call&, auto then) {
    probe_.WhenListed(std::move(then));
  };
  Add(AnsweredBy(server::ListAccelerators));
  Add(AnsweredBy(this, &HardwareService::ListDevices, once_listed));
  Add(AnsweredBy(this, &HardwareService::GetCalibration, once_listed));
  // Models are fitted to what was measured: milliseconds for each data type.
  Add(AnsweredBy(this, &HardwareService::GetKernelRates,
                 [this](const v1::GetKernelRatesRequest& in, const Call& call, auto then) {
                   if (in.device().has_host_devices()) return PostOnceListed(call, std::move(then));
                   OnWorker<>{&workers_, fleet_}(in, call, std::move(then));
                 }));
  Add(AnsweredBy(AnswerListNodeTypes));
  // A few hundred times take microseconds; measurements are read and joined in milliseconds.
  Add(AnsweredBy(this, &HardwareService::GetLinkTimes,
                 [this](const v1::GetLinkTimesRequest& in, const Call& call, auto then) {
                   const v1::DeviceSelector& device = in.nodes().device();
                   if (device.has_host_devices()) return PostOnceListed(call, std::move(then));
                   if (device.has_calibrations()) return PostCall(call, workers_, std::move(then));
                   AfterFleet(fleet_, {&device}, call.context().deadline(),
                              [then] { then(absl::OkStatus()); });
                 }));
  Add({v1::RunProbeRequest::descriptor(), v1::RunProbeResponse::descriptor(),
       StreamHandler([this](Method& method, StreamTransport& transport) {
         return RunProbe(method, transport);
       })});
}

void HardwareService::PostOnceListed(const Call& call,
                                     std::function<void(const absl::Status&)> then) {
  probe_.WhenListed([this, &call, then](const absl::Status& listed) mutable {
    if (!listed.ok()) return then(listed);
    PostCall(call, workers_, std::move(then));
  });
}

absl::Status HardwareService::ListDevices(const CallContext&, const v1::ListDevicesRequest&,
                                          v1::ListDevicesResponse* response) {
  AnswerListDevices(*store_.snapshot(), std::chrono::system_clock::now(), response);
  return absl::OkStatus();
}

absl::Status HardwareService::GetCalibration(const CallContext&,
                                             const v1::GetCalibrationRequest& request,
                                             v1::GetCalibrationResponse* response) {
  return AnswerGetCalibration(request, *store_.snapshot(), std::chrono::system_clock::now(),
                              response);
}

absl::Status HardwareService::GetKernelRates(const CallContext& context,
                                             const v1::GetKernelRatesRequest& request,
                                             v1::GetKernelRatesResponse* response) {
  const auto host = store_.snapshot();
  const auto end = [&context] { return EndAfterTurn(context); };
  CallWork work(end);
  return AnswerKernelRates(request, FinderOf(*host), work, response);
}

absl::Status HardwareService::GetLinkTimes(const CallContext&,
                                           const v1::GetLinkTimesRequest& request,
                                           v1::GetLinkTimesResponse* response) {
  const auto host = store_.snapshot();
  return AnswerLinkTimes(request, FinderOf(*host), response);
}

std::unique_ptr<StreamCall> HardwareService::RunProbe(Method& method, StreamTransport& transport) {
  ProbeJob job;
  job.cancellation = std::make_shared<Cancellation>();
  auto owned = std::make_unique<StreamCall>(
      method, transport, [cancellation = job.cancellation] { cancellation->Cancel(); });
  StreamCall* const call = owned.get();
  job.send = [call](const v1::RunProbeResponse& response) {
    call->Send(response, response.has_progress()).IgnoreError();
  };
  job.end = [call](const absl::Status& status) { call->End(status); };
  call->WhenReadable([this, call, job]() mutable {
    absl::Status readable = call->admission();
    if (readable.ok()) readable = Decode(call->request(), &job.request);
    if (!readable.ok()) return call->End(readable);
    probe_.Run(std::move(job));
  });
  return owned;
}

DeviceFinder HardwareService::FinderOf(const CalibrationSnapshot& host) const {
  return DeviceFinder({.supplied = supplied_, .host = host, .now = absl::Now(), .fleet = fleet_});
}

}  // namespace sextant::server
