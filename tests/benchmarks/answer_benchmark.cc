// Time of calls that carry a calibration, from the bytes of the request to its answer: of the first
// one, which reads it and fits its models, and of all later ones, which find them.
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/matmul_kind.h"
#include "server/handler/device_answers.h"
#include "server/handler/operation_answer.h"
#include "tests/benchmarks/full_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

constexpr int kShapesPerType = 200;
constexpr v1::DataType kTypes[] = {v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32, v1::DATA_TYPE_FP16,
                                   v1::DATA_TYPE_BF16, v1::DATA_TYPE_INT8, v1::DATA_TYPE_FP8_E4M3};

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// 200 shapes of each of 6 types.
v1::Calibration LargeCalibration(const std::string& uuid) {
  v1::Calibration out = FullCalibration(uuid);
  const v1::MatmulMeasurement pattern = out.matmuls(0);
  RemoveMatmuls(IsBurst, &out);
  for (const v1::DataType type : kTypes) {
    for (int i = 0; i < kShapesPerType; ++i) {
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
  const absl::Status status = AnswerOperation(request, options, &response);
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
    const absl::Status status =
        AnswerKernelRates(in, {.supplied = supplied, .host = host, .now = kNow}, work, &out);
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
