#include "tests/fuzz/fuzzed_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <future>
#include <utility>

#include "tests/fuzz/fuzz_target.h"
#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

constexpr std::chrono::milliseconds kDeadline(300);
constexpr std::chrono::seconds kStuck(20);

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  Require(buffer.DumpToSingleSlice(&slice).ok(), "an answer's bytes can't be read");
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

// Waits for the operation that `queue` was given; false where it failed.
bool Await(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool done = false;
  Require(queue.Next(&tag, &done), "the queue has ended");
  return done;
}

}  // namespace

FuzzedServer::FuzzedServer()
    : probe_metrics_(registry_, ProbeMetricsSet::kFleet),
      store_(""),
      probe_({.path = folder_->File("probe")}, store_, probe_metrics_),
      accounting_(metrics_, {.calls = {.large_calls = &workers_, .under_way = &under_way_},
                             .calibrations = [this] { return store_.snapshot(); },
                             .now = SourcesTime,
                             .supplied = &supplied_,
                             .workers = &workers_}),
      planning_(metrics_, {.calls = {.large_calls = &workers_, .under_way = &under_way_},
                           .calibrations = [this] { return store_.snapshot(); },
                           .now = SourcesTime,
                           .supplied = &supplied_,
                           .workers = &workers_,
                           .short_searches = &searches_,
                           .searches = &searches_}),
      hardware_({.metrics = metrics_,
                 .calls = {.large_calls = &workers_, .under_way = &under_way_},
                 .store = store_,
                 .supplied = supplied_,
                 .probe = probe_,
                 .workers = workers_}),
      telemetry_({.metrics = metrics_,
                  .calls = {.large_calls = &workers_, .under_way = &under_way_},
                  .jobs = jobs_,
                  .host = [this] { return store_.snapshot(); },
                  .now = SourcesTime}) {
  google::protobuf::SetLogHandler(nullptr);
  const v1::Calibration calibration = SampleCalibration();
  WriteScript(*folder_, "probe", WriteDevice(calibration.device()));
  std::promise<absl::Status> listed;
  probe_.WhenListed([&listed](const absl::Status& status) { listed.set_value(status); });
  const absl::Status status = listed.get_future().get();
  Require(status.ok(), status.ToString());
  probe_.Stop();
  folder_.reset();
  store_.Keep(calibration, SourcesTime());

  grpc::ServerBuilder builder;
  for (Service* service :
       std::initializer_list<Service*>{&accounting_, &planning_, &hardware_, &telemetry_}) {
    builder.RegisterService(&grpc_services_.emplace_back(*service));
  }
  server_ = builder.BuildAndStart();
  channel_ = server_->InProcessChannel({});
}

FuzzedServer::Answer FuzzedServer::Call(const std::string& path, const std::string& request) {
  Answer answer;
  const grpc::Slice slice(request);
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto call = stub.PrepareCall(&context, path, &queue);
  call->StartCall(nullptr);
  if (Await(queue)) {
    call->WriteLast(bytes, {}, nullptr);
    Await(queue);
    for (grpc::ByteBuffer message; call->Read(&message, nullptr), Await(queue);) {
      answer.messages.push_back(BytesOf(message));
    }
  }
  call->Finish(&answer.status, nullptr);
  Await(queue);
  Require(under_way_.WaitUntilNone(std::chrono::steady_clock::now() + kStuck),
          path + " goes on though its deadline has passed");
  return answer;
}

}  // namespace sextant::server
