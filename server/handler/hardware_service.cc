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
  Add("ListAccelerators", &HardwareService::ListAccelerators);
  Add("ListDevices", &HardwareService::ListDevices);
  Add("GetCalibration", &HardwareService::GetCalibration);
  Add("GetKernelRates", &HardwareService::GetKernelRates);
  Add("ListNodeTypes", &HardwareService::ListNodeTypes);
  Add("GetLinkTimes", &HardwareService::GetLinkTimes);
  Add("RunProbe", &HardwareService::RunProbe);
}

void HardwareService::PostOnceListed(const Call& call,
                                     std::function<void(const absl::Status&)> then) {
  probe_.WhenListed([this, &call, then](const absl::Status& listed) mutable {
    if (!listed.ok()) return then(listed);
    PostCall(call, workers_, std::move(then));
  });
}

void HardwareService::ListAccelerators(Method& method, UnaryTransport& transport) {
  AnswerInline<v1::ListAcceleratorsRequest, v1::ListAcceleratorsResponse>(method, transport,
                                                                          server::ListAccelerators);
}

void HardwareService::ListDevices(Method& method, UnaryTransport& transport) {
  AnswerAfter<v1::ListDevicesRequest, v1::ListDevicesResponse>(
      method, transport,
      [this](const auto&, const Call&, auto then) { probe_.WhenListed(std::move(then)); },
      [this](const v1::ListDevicesRequest&, v1::ListDevicesResponse* out) {
        AnswerListDevices(*store_.snapshot(), std::chrono::system_clock::now(), out);
        return absl::OkStatus();
      });
}

void HardwareService::GetCalibration(Method& method, UnaryTransport& transport) {
  AnswerAfter<v1::GetCalibrationRequest, v1::GetCalibrationResponse>(
      method, transport,
      [this](const auto&, const Call&, auto then) { probe_.WhenListed(std::move(then)); },
      [this](const v1::GetCalibrationRequest& in, v1::GetCalibrationResponse* out) {
        return AnswerGetCalibration(in, *store_.snapshot(), std::chrono::system_clock::now(), out);
      });
}

// Models are fitted to what was measured: milliseconds for each data type.
void HardwareService::GetKernelRates(Method& method, UnaryTransport& transport) {
  AnswerAfter<v1::GetKernelRatesRequest, v1::GetKernelRatesResponse>(
      method, transport,
      [this](const v1::GetKernelRatesRequest& in, const Call& call, auto then) {
        if (in.device().has_host_devices()) return PostOnceListed(call, std::move(then));
        AfterFleet(fleet_, {&in.device()},
                   [this, &call, then] { PostCall(call, workers_, std::move(then)); });
      },
      [this, &transport](const v1::GetKernelRatesRequest& in, v1::GetKernelRatesResponse* out) {
        const auto host = store_.snapshot();
        const auto end = [&transport] { return EndAfterTurn(transport); };
        CallWork work(end);
        return AnswerKernelRates(in, FinderOf(*host), work, out);
      });
}

void HardwareService::ListNodeTypes(Method& method, UnaryTransport& transport) {
  AnswerInline<v1::ListNodeTypesRequest, v1::ListNodeTypesResponse>(method, transport,
                                                                    AnswerListNodeTypes);
}

// A few hundred times take microseconds; measurements are read and joined in milliseconds.
void HardwareService::GetLinkTimes(Method& method, UnaryTransport& transport) {
  AnswerAfter<v1::GetLinkTimesRequest, v1::GetLinkTimesResponse>(
      method, transport,
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
