// Good requests with one number of theirs set to a hostile value: each is answered with
// possible figures, or refused as the caller's mistake. Every numeric field of the API is tried.
// And bytes that none of our clients sends: the server refuses them and keeps serving.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "sextant/v1/hardware_service.pb.h"
#include "tests/server/json_call.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"
#include "tests/support/possible_figures.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Planning = v1::PlanningService::Stub;
using ::testing::IsEmpty;

// The way from a request to one of its numbers.
using Path = std::vector<const FieldDescriptor*>;

// Values of one numeric field that callers send by mistake; empty: not a number.
std::vector<double> HostileValues(const FieldDescriptor& field) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {0, -1, 5e-324, 1e-300, 1e-9, 1e-3, 1, 1e3, 1e6, 1e12, 1e300, kInfinity, std::nan("")};
    case FieldDescriptor::CPPTYPE_INT64:
      return {0, -1, 1, 16'384, 0x1p62};
    case FieldDescriptor::CPPTYPE_INT32:
      return {0, -1, 1, 16'384, 0x1p30};
    default:
      return {};
  }
}

// Numbers of messages that hold a message of their own kind are tried once.
void AddPaths(const google::protobuf::Descriptor& type, Path& way, std::vector<Path>& out) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_map()) continue;
    way.push_back(field);
    if (!HostileValues(*field).empty()) out.push_back(way);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto* inner = field->message_type();
      const bool nested = std::any_of(way.begin(), way.end() - 1, [&](const FieldDescriptor* f) {
        return f->message_type() == inner;
      });
      if (inner != &type && !nested) AddPaths(*inner, way, out);
    }
    way.pop_back();
  }
}

void Set(Message& message, const FieldDescriptor& field, double value) {
  const Reflection& reflection = *message.GetReflection();
  const auto integer = static_cast<int64_t>(std::isfinite(value) ? value : 0);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.is_repeated() ? reflection.AddDouble(&message, &field, value)
                                 : reflection.SetDouble(&message, &field, value);
    case FieldDescriptor::CPPTYPE_INT64:
      return field.is_repeated() ? reflection.AddInt64(&message, &field, integer)
                                 : reflection.SetInt64(&message, &field, integer);
    default:
      return field.is_repeated()
                 ? reflection.AddInt32(&message, &field, static_cast<int32_t>(integer))
                 : reflection.SetInt32(&message, &field, static_cast<int32_t>(integer));
  }
}

// Sets the number at `path`, with the messages that hold it.
void SetAt(Message& request, const Path& path, double value) {
  Message* at = &request;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Reflection& reflection = *at->GetReflection();
    if (!path[i]->is_repeated()) {
      at = reflection.MutableMessage(at, path[i]);
    } else if (reflection.FieldSize(*at, path[i]) == 0) {
      at = reflection.AddMessage(at, path[i]);
    } else {
      at = reflection.MutableRepeatedMessage(at, path[i], 0);
    }
  }
  Set(*at, *path.back(), value);
}

std::string NameOf(const Path& path, double value) {
  std::string out;
  for (const FieldDescriptor* field : path) out += "." + field->name();
  return out + " = " + std::to_string(value);
}

// Refusals that tell a caller what to change.
bool IsTheCallers(grpc::StatusCode code) {
  return code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::NOT_FOUND ||
         code == grpc::StatusCode::FAILED_PRECONDITION;
}

// How often calls were answered and refused.
struct Tries {
  int answered = 0;
  int refused = 0;
};

// Tries every value of every number of `good` with `call(request, &answer)`; of those alone that
// are in a field of the name `within`, where it is given.
template <typename Response, typename Request, typename Call>
Tries TryEach(const Request& good, const Call& call, absl::string_view within = "") {
  Response answer;
  const grpc::Status asked = call(good, &answer);
  EXPECT_TRUE(asked.ok()) << asked.error_message();
  EXPECT_THAT(ImpossibleFigures(answer), IsEmpty());
  std::vector<Path> paths;
  Path way;
  AddPaths(*Request::descriptor(), way, paths);
  Tries out;
  for (const Path& path : paths) {
    const bool is_within =
        std::any_of(path.begin(), path.end(),
                    [within](const FieldDescriptor* f) { return f->name() == within; });
    if (!within.empty() && !is_within) continue;
    for (const double value : HostileValues(*path.back())) {
      Request request = good;
      SetAt(request, path, value);
      answer.Clear();
      const grpc::Status status = call(request, &answer);
      (status.ok() ? out.answered : out.refused)++;
      EXPECT_TRUE(status.ok() || IsTheCallers(status.error_code()))
          << NameOf(path, value) << ": " << status.error_code() << " " << status.error_message();
      EXPECT_THAT(ImpossibleFigures(answer), IsEmpty()) << NameOf(path, value);
    }
  }
  return out;
}

template <typename Request, typename Response>
void TryAll(grpc::Status (v1::PlanningService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
            const Request& good, absl::string_view within = "") {
  const PlanningServer server = WithSample();
  const auto call = [&](const Request& request, Response* answer) {
    return server.Call(method, request, answer);
  };
  const Tries tries = TryEach<Response>(good, call, within);
  EXPECT_GT(tries.answered, 10);
  EXPECT_GT(tries.refused, 100);
}

// Eight GPUs: a small space, as every call searches it.
v1::PlanRunRequest RunOfEight() {
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_layout()->set_global_batch_size(64);
  run.mutable_layout()->set_micro_batch_size(1);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  run.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  return run;
}

TEST(HostileValues, OfPlanRun) { TryAll(&Planning::PlanRun, RunOfEight()); }

// The same of a run with a measured step.
TEST(HostileValues, OfAMeasuredStep) {
  v1::PlanRunRequest run = RunOfEight();
  run.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  run.mutable_options()->set_include_derivation(true);
  run.mutable_measured_step()->set_seconds(10);
  *run.mutable_measured_step()->mutable_layout() = run.layout();
  run.mutable_interruptions()->set_failures_per_device_hour(2e-5);
  run.mutable_interruptions()->set_checkpoint_write_bytes_per_second(1e11);
  TryAll(&Planning::PlanRun, run);
}

TEST(HostileValues, OfHeadsThatAreExchanged) {
  v1::PlanRunRequest run = RunOfEight();
  run.mutable_layout()->set_context_parallel_size(2);
  run.mutable_layout()->set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  TryAll(&Planning::PlanRun, run);
}

TEST(HostileValues, OfASearch) {
  v1::PlanRunRequest run = RunOfEight();
  run.mutable_layout()->clear_micro_batch_size();
  run.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  TryAll(&Planning::PlanRun, run);
}

TEST(HostileValues, OfSizeCluster) {
  v1::SizeClusterRequest request;
  *request.mutable_run() = RunOfEight();
  request.mutable_run()->mutable_cluster()->clear_device_count();
  TryAll(&Planning::SizeCluster, request);
}

TEST(HostileValues, OfSizeModel) {
  v1::SizeModelRequest request;
  *request.mutable_run() = RunOfEight();
  TryAll(&Planning::SizeModel, request);
}

TEST(HostileValues, OfExportRun) {
  v1::ExportRunRequest request;
  *request.mutable_request() = RunOfEight();
  request.set_launcher("megatron");
  TryAll(&Planning::ExportRun, request);
}

TEST(HostileValues, OfASuppliedCalibration) {
  v1::PlanRunRequest run = RunOfEight();
  run.mutable_cluster()->clear_node_type();
  run.mutable_cluster()->clear_device();
  *SuppliedTo(run).Add() = SampleCalibration();
  run.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  run.mutable_options()->set_include_derivation(true);
  TryAll(&Planning::PlanRun, run, "calibrations");
}

TEST(HostileValues, OfGetKernelRates) {
  const TestServer server;
  v1::GetKernelRatesRequest request;
  *request.mutable_device()->mutable_calibrations()->add_calibrations() =
      CalibrationOfH200("GPU-1", 0.001);
  const Tries tries = TryEach<v1::GetKernelRatesResponse>(
      request, [&](const v1::GetKernelRatesRequest& changed, v1::GetKernelRatesResponse* answer) {
        grpc::ClientContext context;
        return server.hardware().GetKernelRates(&context, changed, answer);
      });
  EXPECT_GT(tries.answered, 10);
  EXPECT_GT(tries.refused, 100);
}

TEST(HostileValues, OfAllocateCompute) {
  v1::AllocateComputeRequest request;
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(8);
  request.mutable_duration()->set_seconds(604800);
  TryAll(&Planning::AllocateCompute, request);
}

// A hostile report is refused, or makes series of finite numbers.
TEST(HostileValues, OfReportProgress) {
  const TestServer server;
  v1::ReportProgressRequest report;
  report.set_job_id("job");
  report.mutable_start_time()->set_seconds(1'769'860'800);
  report.set_token_count(1'000'000);
  report.set_device_count(8);
  report.add_gpu_uuids("GPU-1");
  report.mutable_telemetry()->set_model_flops_per_token(4e11);
  report.mutable_telemetry()->set_planned_mfu(0.4);
  report.mutable_telemetry()->set_compute_data_type(v1::DATA_TYPE_BF16);
  int number = 0;
  const Tries tries = TryEach<v1::ReportProgressResponse>(
      report, [&](v1::ReportProgressRequest request, v1::ReportProgressResponse* answer) {
        request.set_job_id("job" + std::to_string(number++ % 50));
        grpc::ClientContext context;
        return server.telemetry().ReportProgress(&context, request, answer);
      });
  EXPECT_GT(tries.answered, 10);
  EXPECT_GT(tries.refused, 20);
  const std::string metrics =
      httplib::Client("http://" + server.server().http_address()).Get("/metrics")->body;
  EXPECT_THAT(metrics, ::testing::HasSubstr("sextant_gpu_model_flops_total{"));
  EXPECT_THAT(metrics,
              ::testing::Not(::testing::ContainsRegex("job_id.*} *(-|[Nn]an|[+]?[Ii]nf)")));
}

constexpr char kPlanRun[] = "/sextant.v1.PlanningService/PlanRun";
constexpr char kRunProbe[] = "/sextant.v1.HardwareService/RunProbe";
constexpr char kReportProgress[] = "/sextant.v1.TelemetryService/ReportProgress";

std::string RandomBytes(std::mt19937& random, size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

grpc::Status SendBytes(const TestServer& server, const std::string& bytes,
                       const char* method = kPlanRun) {
  grpc::ByteBuffer answer;
  return CallBytes(server.channel(), method, bytes, &answer);
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
  const grpc::Status of_stream = SendBytes(server, "\xff\xff\xff", kRunProbe);
  EXPECT_EQ(of_stream.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FaultsOf(of_stream),
              ::testing::Contains(::testing::StartsWith("request: its bytes")));
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
  httplib::Client http("http://" + server.server().http_address());
  EXPECT_THAT(http.Get("/metrics")->body,
              ::testing::HasSubstr("sextant_calls_total{code=\"INVALID_ARGUMENT\",method=\""
                                   "sextant.v1.PlanningService/PlanRun\",protocol=\"grpc\"} 4\n"));
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

// Plans broken copies of `good` that still parse: each is answered or refused, and no figure of an
// answer is impossible.
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
    CheckPlanNumbers(request, violations);
    const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
    auto plan = PlanRun(run, std::move(violations));
    (plan.ok() ? answered : refused)++;
    if (!plan.ok()) continue;
    v1::Plan wire;
    PlanTo(*std::move(plan), run.options.full, &wire);
    EXPECT_THAT(ImpossibleFigures(wire), IsEmpty()) << request.ShortDebugString();
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
