// Time of calls from the bytes of the request to its answer, without gRPC: plans, and calls that
// carry a calibration, the first one of which reads it and fits its models, which all later ones
// find. And the time of JSON.
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/util/json_util.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/matmul_kind.h"
#include "server/connect/json_codec.h"
#include "server/convert/run_spec.h"
#include "server/device/device_finder.h"
#include "server/handler/device_answers.h"
#include "server/handler/operation_answer.h"
#include "server/handler/plan_answer.h"
#include "tests/benchmarks/service_requests.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

constexpr int kAnsweredShapes = 200;
constexpr v1::DataType kTypes[] = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32, v1::DATA_TYPE_FP16,
                                   v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8, v1::DATA_TYPE_FP8_E4M3};

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// 200 shapes of each of 6 types.
v1::Calibration LargeCalibration(const std::string& uuid) {
  v1::Calibration out = FullCalibration(uuid);
  const v1::MatmulMeasurement pattern = out.matmuls(0);
  RemoveMatmuls(IsBurst, &out);
  for (const v1::DataType type : kTypes) {
    for (int i = 0; i < kAnsweredShapes; ++i) {
      v1::MatmulMeasurement* const matmul = out.add_matmuls();
      *matmul = pattern;
      matmul->set_data_type(type);
      matmul->set_m(64 * (1 + i % 20));
      matmul->set_n(512 * (1 + i / 20));
      const double flops = 2.0 * static_cast<double>(matmul->m()) *
                           static_cast<double>(matmul->n()) * static_cast<double>(matmul->k());
      const double scale = 1 / matmul->time().median_seconds();
      const double seconds = 5e-6 + flops / pattern.flops_per_second();
      v1::TimeStatistics* const time = matmul->mutable_time();
      time->set_p10_seconds(time->p10_seconds() * scale * seconds);
      time->set_p90_seconds(time->p90_seconds() * scale * seconds);
      time->set_median_seconds(seconds);
      matmul->set_flops_per_second(flops / seconds);
      matmul->clear_register_ratio();
    }
  }
  return out;
}

v1::AnalyzeOperationRequest Product() {
  v1::AnalyzeOperationRequest out;
  v1::Operation::Matmul* const matmul = out.mutable_operation()->mutable_matmul();
  matmul->set_m(4096);
  matmul->set_n(6144);
  matmul->set_k(4096);
  out.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
  return out;
}

std::string ByName() {
  v1::AnalyzeOperationRequest request = Product();
  request.mutable_device()->mutable_device()->set_accelerator("h100-sxm");
  return request.SerializeAsString();
}

std::string ByCalibration() {
  v1::AnalyzeOperationRequest request = Product();
  *request.mutable_device()->mutable_device()->mutable_calibrations()->add_calibrations() =
      LargeCalibration("CPU-1");
  return request.SerializeAsString();
}

void Answer(const std::string& bytes, SuppliedCalibrations& supplied, benchmark::State& state) {
  const auto host = std::make_shared<const CalibrationSnapshot>();
  AccountingOptions options;
  options.calibrations = [&host] { return host; };
  options.now = [] { return kNow; };
  options.supplied = &supplied;
  v1::AnalyzeOperationRequest request;
  v1::AnalyzeOperationResponse response;
  request.ParseFromString(bytes);
  CallWork work;
  const absl::Status status = AnswerOperation(request, options, work, &response);
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  benchmark::DoNotOptimize(response);
}

void OperationByName(benchmark::State& state) {
  const std::string bytes = ByName();
  SuppliedCalibrations supplied;
  for (auto _ : state) Answer(bytes, supplied, state);
}
BENCHMARK(OperationByName)->Unit(benchmark::kMicrosecond);

void OperationByCalibrationFirst(benchmark::State& state) {
  const std::string bytes = ByCalibration();
  for (auto _ : state) {
    SuppliedCalibrations supplied;
    Answer(bytes, supplied, state);
  }
}
BENCHMARK(OperationByCalibrationFirst)->Unit(benchmark::kMicrosecond);

void OperationByCalibrationAgain(benchmark::State& state) {
  const std::string bytes = ByCalibration();
  SuppliedCalibrations supplied;
  Answer(bytes, supplied, state);
  for (auto _ : state) Answer(bytes, supplied, state);
}
BENCHMARK(OperationByCalibrationAgain)->Unit(benchmark::kMicrosecond);

// The least work of the benchmark above.
void DecodeAndHashCalibration(benchmark::State& state) {
  const std::string bytes = ByCalibration();
  for (auto _ : state) {
    v1::AnalyzeOperationRequest request;
    request.ParseFromString(bytes);
    const std::string again =
        request.device().device().calibrations().calibrations(0).SerializeAsString();
    benchmark::DoNotOptimize(std::hash<std::string>()(again));
  }
}
BENCHMARK(DecodeAndHashCalibration)->Unit(benchmark::kMicrosecond);

// The same with so long micro-batches that no small change makes it fit.
v1::PlanRunRequest TooLarge(v1::PlanRunRequest request) {
  request.mutable_layout()->set_micro_batch_size(8);
  return request;
}

// State that plans share.
struct PlanningState {
  SuppliedCalibrations supplied;
  CalibrationSnapshot host;
  prometheus::Registry registry;
  Metrics metrics{registry};
};

// From the bytes of a request to those of its answer. A function of its own, for counting its
// instructions.
[[gnu::noinline]] absl::Status PlanBytes(const std::string& bytes, PlanningState& in) {
  google::protobuf::Arena arena;
  auto* const request = google::protobuf::Arena::CreateMessage<v1::PlanRunRequest>(&arena);
  auto* const response = google::protobuf::Arena::CreateMessage<v1::PlanRunResponse>(&arena);
  request->ParseFromString(bytes);
  FieldViolations violations;
  const RunSpec run = RunSpecFrom(
      *request, DeviceFinder({.supplied = in.supplied, .host = in.host, .now = kNow}), violations);
  CallWork work;
  const absl::StatusOr<std::string> fingerprint =
      AnswerPlan({.request = *request, .run = run, .violations = std::move(violations)}, work,
                 in.metrics, response->mutable_plan());
  benchmark::DoNotOptimize(response->SerializeAsString());
  return fingerprint.status();
}

// Fits the models of the product, which are kept.
void FitModels(const v1::PlanRunRequest& request, PlanningState& in) {
  FieldViolations violations;
  const RunSpec run = RunSpecFrom(
      request, DeviceFinder({.supplied = in.supplied, .host = in.host, .now = kNow}), violations);
  benchmark::DoNotOptimize(PlanRun(run));
}

// Plans, each of a token count of its own.
void PlanCall(benchmark::State& state, const v1::PlanRunRequest& pattern) {
  constexpr int kRequests = 64;
  std::vector<std::string> requests;
  for (int i = 0; i < kRequests; ++i) {
    v1::PlanRunRequest request = pattern;
    request.mutable_training()->set_token_count(pattern.training().token_count() + i);
    requests.push_back(request.SerializeAsString());
  }
  PlanningState planning;
  FitModels(pattern, planning);
  size_t next = 0;
  for (auto _ : state) {
    const absl::Status status = PlanBytes(requests[next++ % kRequests], planning);
    if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  }
}
BENCHMARK_CAPTURE(PlanCall, preset, PresetPlan())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(PlanCall, llama_70b, Llama70bLayout())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(PlanCall, llama_405b, Llama405bLayout())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(PlanCall, deepseek_v3, DeepSeekLayout())->Unit(benchmark::kMicrosecond);
// A fixed number of calls, for counting instructions.
BENCHMARK_CAPTURE(PlanCall, preset, PresetPlan())
    ->Name("PlanCallThousandTimes/preset")
    ->Iterations(1000);
BENCHMARK_CAPTURE(PlanCall, llama_70b, Llama70bLayout())
    ->Name("PlanCallThousandTimes/llama_70b")
    ->Iterations(1000);
BENCHMARK_CAPTURE(PlanCall, deepseek_v3, DeepSeekLayout())
    ->Name("PlanCallThousandTimes/deepseek_v3")
    ->Iterations(1000);
BENCHMARK_CAPTURE(PlanCall, llama_70b_does_not_fit, TooLarge(Llama70bLayout()))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(PlanCall, llama_405b_does_not_fit, TooLarge(Llama405bLayout()))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(PlanCall, deepseek_v3_does_not_fit, TooLarge(DeepSeekLayout()))
    ->Unit(benchmark::kMicrosecond);

// A plan's answer with everything in it, or without.
v1::PlanRunResponse AnswerOf(v1::PlanRunRequest request, bool is_full) {
  if (is_full) {
    request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
    request.mutable_options()->set_include_ledger(true);
    request.mutable_options()->set_include_operations(true);
    request.mutable_options()->set_include_derivation(true);
  }
  PlanningState in;
  FieldViolations violations;
  const RunSpec run = RunSpecFrom(
      request, DeviceFinder({.supplied = in.supplied, .host = in.host, .now = kNow}), violations);
  CallWork work;
  v1::PlanRunResponse out;
  (void)AnswerPlan({.request = request, .run = run, .violations = std::move(violations)}, work,
                   in.metrics, out.mutable_plan());
  return out;
}

std::string JsonOf(const google::protobuf::Message& message) {
  std::string out;
  (void)google::protobuf::util::MessageToJsonString(message, &out);
  return out;
}

void ReadJsonRequest(benchmark::State& state) {
  const std::string json = JsonOf(Llama70bLayout());
  for (auto _ : state) {
    const auto bytes = BytesOfJson(*v1::PlanRunRequest::descriptor(), json);
    if (!bytes.ok()) state.SkipWithError(std::string(bytes.status().message()).c_str());
  }
}
BENCHMARK(ReadJsonRequest)->Unit(benchmark::kMicrosecond);

void ReadJsonRequestByProtobuf(benchmark::State& state) {
  const std::string json = JsonOf(Llama70bLayout());
  for (auto _ : state) {
    v1::PlanRunRequest out;
    benchmark::DoNotOptimize(google::protobuf::util::JsonStringToMessage(json, &out).ok());
  }
}
BENCHMARK(ReadJsonRequestByProtobuf)->Unit(benchmark::kMicrosecond);

void WriteJsonAnswer(benchmark::State& state, bool is_full) {
  const std::string bytes = AnswerOf(Llama70bLayout(), is_full).SerializeAsString();
  size_t size = 0;
  for (auto _ : state) {
    const auto json = JsonOfBytes(*v1::PlanRunResponse::descriptor(), bytes);
    if (!json.ok()) state.SkipWithError(std::string(json.status().message()).c_str());
    size = json.ok() ? json->size() : 0;
  }
  state.counters["bytes"] = static_cast<double>(size);
}
BENCHMARK_CAPTURE(WriteJsonAnswer, basic, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(WriteJsonAnswer, full, true)->Unit(benchmark::kMicrosecond);

void WriteJsonAnswerByProtobuf(benchmark::State& state, bool is_full) {
  const v1::PlanRunResponse answer = AnswerOf(Llama70bLayout(), is_full);
  for (auto _ : state) benchmark::DoNotOptimize(JsonOf(answer));
}
BENCHMARK_CAPTURE(WriteJsonAnswerByProtobuf, basic, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(WriteJsonAnswerByProtobuf, full, true)->Unit(benchmark::kMicrosecond);

// Kernel rates with the most calibrations that a request may carry.
void KernelRatesOfSixteen(benchmark::State& state) {
  v1::GetKernelRatesRequest request;
  request.add_data_types(v1::DATA_TYPE_BF16);
  for (int i = 0; i < 16; ++i) {
    *request.mutable_device()->mutable_calibrations()->add_calibrations() =
        FullCalibration("CPU-" + std::to_string(i));
  }
  const std::string bytes = request.SerializeAsString();
  const CalibrationSnapshot host;
  SuppliedCalibrations supplied;
  const auto answer = [&] {
    v1::GetKernelRatesRequest in;
    v1::GetKernelRatesResponse out;
    CallWork work;
    in.ParseFromString(bytes);
    const absl::Status status = AnswerKernelRates(
        in, DeviceFinder({.supplied = supplied, .host = host, .now = kNow}), work, &out);
    if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
    benchmark::DoNotOptimize(out);
  };
  answer();
  for (auto _ : state) answer();
}
BENCHMARK(KernelRatesOfSixteen)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sextant::server

BENCHMARK_MAIN();
