// Bytes that none of our clients sends: the server refuses them and keeps serving.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <string>

#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "tests/server/device_finder.h"
#include "tests/server/finite_numbers.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

constexpr char kPlanRun[] = "/sextant.v1.PlanningService/PlanRun";
constexpr char kReportProgress[] = "/sextant.v1.TelemetryService/ReportProgress";

std::string RandomBytes(std::mt19937& random, size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

grpc::Status SendBytes(const TestServer& server, const std::string& bytes,
                       const char* method = kPlanRun) {
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  grpc::Status status;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &response,
                 [&](grpc::Status answer) {
                   const std::lock_guard<std::mutex> lock(mutex);
                   status = std::move(answer);
                   finished = true;
                   done.notify_one();
                 });
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return finished; });
  return status;
}

TEST(Garbage, IsRefusedAndTheServerServesOn) {
  const TestServer server;
  std::mt19937 random(20261120);
  constexpr size_t kMiB = 1 << 20;
  for (const size_t size : {size_t{1}, size_t{100}, size_t{10'000}, kMiB - 1024}) {
    const grpc::Status status = SendBytes(server, RandomBytes(random, size));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << size << " bytes";
    EXPECT_EQ(SendBytes(server, RandomBytes(random, size), kReportProgress).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << size << " bytes";
  }
  EXPECT_EQ(SendBytes(server, RandomBytes(random, kMiB + 1)).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
  httplib::Client http("http://" + server.server().http_address());
  EXPECT_THAT(http.Get("/metrics")->body,
              ::testing::HasSubstr("sextant_grpc_calls_total{code=\"INVALID_ARGUMENT\",method=\""
                                   "sextant.v1.PlanningService/PlanRun\"} 4\n"));
}

// Text that is not UTF-8 is refused without a line in the log for each.
TEST(Garbage, BrokenTextDoesNotFillTheLog) {
  const TestServer server;
  // model { preset: "\xff" } on the wire: field 1, 3 bytes; field 1, 1 byte.
  const std::string broken = "\x0a\x03\x0a\x01\xff";
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(SendBytes(server, broken).ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// A long name is clipped, not echoed whole.
TEST(Garbage, LongTextsDoNotComeBack) {
  const TestServer server;
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_model()->set_preset(std::string(900'000, 'x'));
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_LT(status.error_message().size(), 1024u);
}

// Plans broken copies of `good` that still parse: each is answered or refused, and no number of an
// answer is NaN or infinite.
void PlanBrokenCopies(v1::PlanRunRequest good, int flip_count) {
  const google::protobuf::LogSilencer quiet;
  std::mt19937 random(7);
  good.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  good.mutable_options()->set_include_derivation(true);
  const std::string bytes = good.SerializeAsString();
  int answered = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = bytes;
    for (int flips = 0; flips < flip_count; ++flips) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    v1::PlanRunRequest request;
    if (!request.ParseFromString(mutated)) continue;
    FieldViolations violations;
    SuppliedCalibrations supplied;
    const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
    auto plan = PlanRun(run, std::move(violations));
    (plan.ok() ? answered : refused)++;
    if (!plan.ok()) continue;
    v1::Plan wire;
    PlanTo(*std::move(plan), run.options.full, &wire);
    EXPECT_EQ(NotFinite(wire), "") << request.ShortDebugString();
  }
  EXPECT_GT(answered, 100);
  EXPECT_GT(refused, 100);
}

TEST(Garbage, BrokenRequestsAreAnsweredOrRefused) {
  v1::PlanRunRequest good = TestServer::GoodRequest();
  good.mutable_economics()->set_device_hour_price_usd(2.5);
  good.mutable_training()->mutable_precision()->set_compute_data_type(v1::DATA_TYPE_BF16);
  PlanBrokenCopies(good, 3);
}

TEST(Garbage, BrokenCalibrationsAreAnsweredOrRefused) {
  v1::PlanRunRequest good;
  good.mutable_model()->set_parameter_count(1'000'000'000);
  good.mutable_training()->set_token_count(20'000'000'000);
  good.mutable_cluster()->set_device_count(1);
  *SuppliedTo(good).Add() = SampleCalibration();
  PlanBrokenCopies(good, 2);
}

}  // namespace
}  // namespace sextant::server
