#include "tests/benchmarks/closed_loop.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant {
namespace {

struct LoopCall {
  grpc::ClientContext context;
  v1::PlanRunResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::PlanRunResponse>> reader;
};

}  // namespace

LoopResult RunClosedLoop(const std::string& address, v1::PlanRunRequest request, int calls,
                         int in_flight) {
  const auto stub = v1::PlanningService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  int started = 0;
  const auto start_one = [&] {
    auto* call = new LoopCall;
    v1::TrainingSpec& training = *request.mutable_training();
    training.set_token_count(training.token_count() + 1);
    call->reader = stub->AsyncPlanRun(&call->context, request, &queue);
    call->reader->Finish(&call->response, &call->status, call);
    ++started;
  };
  LoopResult result;
  const auto start = std::chrono::steady_clock::now();
  while (started < std::min(calls, in_flight)) start_one();
  for (int finished = 0; finished < calls; ++finished) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    const std::unique_ptr<LoopCall> call(static_cast<LoopCall*>(tag));
    if (!ok || !call->status.ok()) ++result.failed_calls;
    if (started < calls) start_one();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  result.seconds = took.count();
  return result;
}

}  // namespace sextant
