// sextant-probe with a scripted device in place of the host's, for tests of the program itself.
// $SEXTANT_FAKE says what the device does, or that there are eight of them; its kernels are
// instant, or never end.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/health/run_check.h"
#include "gpu_probe/run_probe.h"

namespace sextant::probe {
namespace {

std::string Behaviour() {
  const char* value = std::getenv("SEXTANT_FAKE");
  return value == nullptr ? "" : value;
}

// Eight GPUs of one product, all but one within a per cent of each other; the sixth is slow.
constexpr int kGpuCount = 8;
constexpr int kSlowGpu = 6;
constexpr double kGpuRunSeconds = 1e-4;

std::string GpuUuid(int number) {
  return absl::StrCat("GPU-0000000", number, "-0000-0000-0000-000000000000");
}

// By the scripted GPU's own clock; 0 for the processor, which has none.
double RunSecondsOf(const std::string& uuid) {
  for (int number = 1; number <= kGpuCount; ++number) {
    if (uuid != GpuUuid(number)) continue;
    return kGpuRunSeconds * (number == kSlowGpu ? 1.15 : 1 + 0.001 * number);
  }
  return 0;
}

class FakeWorkload : public Workload {
 public:
  explicit FakeWorkload(double run_seconds) : run_seconds_(run_seconds) {}
  void Poison() override {}
  absl::Status Run(int64_t repetition_count) override {
    if (Behaviour() == "hang") {
      while (true) pause();
    }
    if (Behaviour() == "crash") std::abort();
    for (int64_t i = 0; i < 1000 * repetition_count; ++i) sink_.fetch_add(1);
    device_seconds_ = run_seconds_ * static_cast<double>(repetition_count);
    return absl::OkStatus();
  }
  absl::optional<double> DeviceSeconds() const override {
    if (run_seconds_ == 0) return absl::nullopt;
    return device_seconds_;
  }
  absl::Status Check() override {
    return Behaviour() == "mismatch" ? absl::DataLossError("element 7 is 1, not 2")
                                     : absl::OkStatus();
  }

 private:
  const double run_seconds_;
  double device_seconds_ = 0;
  std::atomic<int64_t> sink_ = 0;
};

Point FakePoint(const v1::MatmulShape& shape, bool requested, double run_seconds) {
  Point point;
  point.phase = "matmul fp32";
  point.label = absl::StrCat("fp32 ", shape.m(), "x", shape.n(), "x", shape.k());
  point.work = 2.0 * static_cast<double>(shape.m() * shape.n() * shape.k());
  point.unit = "FLOP/s";
  point.pass_count = 3;
  point.make = [run_seconds]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    if (Behaviour() == "memory") return absl::ResourceExhaustedError("3 GiB are not free");
    return std::unique_ptr<Workload>(std::make_unique<FakeWorkload>(run_seconds));
  };
  point.record = [shape, requested, work = point.work](const v1::TimeStatistics& time,
                                                       v1::Calibration* out) {
    v1::MatmulMeasurement* matmul = out->add_matmuls();
    matmul->set_data_type(v1::DATA_TYPE_FP32);
    matmul->set_m(shape.m());
    matmul->set_n(shape.n());
    matmul->set_k(shape.k());
    *matmul->mutable_time() = time;
    matmul->set_flops_per_second(work / time.median_seconds());
    matmul->set_engine("fake");
    matmul->set_window(v1::MatmulMeasurement::WINDOW_BURST);
    matmul->set_purpose(requested ? v1::MatmulMeasurement::PURPOSE_REQUESTED
                                  : v1::MatmulMeasurement::PURPOSE_GRID);
  };
  return point;
}

std::vector<v1::Device> FakeDevices() {
  if (Behaviour() == "absent") return {};
  if (Behaviour() == "eight_gpus") {
    std::vector<v1::Device> gpus(kGpuCount);
    for (int i = 0; i < kGpuCount; ++i) {
      gpus[static_cast<size_t>(i)].set_uuid(GpuUuid(i + 1));
      gpus[static_cast<size_t>(i)].set_kind(v1::DEVICE_KIND_GPU);
      gpus[static_cast<size_t>(i)].set_product_name("NVIDIA H200");
      gpus[static_cast<size_t>(i)].set_hostname("node1");
      gpus[static_cast<size_t>(i)].set_memory_bytes(150109945856);
      gpus[static_cast<size_t>(i)].set_power_limit_watts(700);
    }
    return gpus;
  }
  v1::Device device;
  const char* uuid = std::getenv("SEXTANT_FAKE_UUID");
  device.set_uuid(uuid == nullptr ? "CPU-0123456789abcdef" : uuid);
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_memory_bytes(int64_t{16} << 30);
  device.set_product_name(Behaviour() == "not_utf8" ? "\xff" : "A Processor");
  return {device};
}

absl::StatusOr<ProbePlan> FakePlan(const ProbeOptions& options, const PhaseSink& /*on_phase*/) {
  if (Behaviour() == "unsupported") return absl::UnimplementedError("no int8 instructions here");
  ProbePlan plan;
  for (const v1::Device& device : FakeDevices()) {
    if (device.uuid() == options.device) plan.device = device;
  }
  const double run_seconds = RunSecondsOf(options.device);
  if (Behaviour() == "many_notes") plan.notes.assign(20000, "A note that takes a line.");
  for (const v1::MatmulShape& shape : options.matmuls) {
    plan.points.push_back(FakePoint(shape, /*requested=*/Behaviour() != "forgets", run_seconds));
  }
  if (!plan.points.empty()) return plan;
  for (const int64_t size : {64, 128, 256}) {
    v1::MatmulShape shape;
    shape.set_m(size);
    shape.set_n(size);
    shape.set_k(size);
    plan.points.push_back(FakePoint(shape, /*requested=*/false, run_seconds));
  }
  return plan;
}

}  // namespace
}  // namespace sextant::probe

int main(int argc, char** argv) {
  const std::vector<sextant::probe::Backend> backends = {
      {.name = sextant::probe::Behaviour() == "eight_gpus" ? "cuda" : "host",
       .devices = sextant::probe::FakeDevices,
       .plan = sextant::probe::FakePlan}};
  const std::vector<std::string> args(argv + 1, argv + argc);
  return sextant::probe::AsksForCheck(args) ? sextant::probe::RunCheck(args, backends)
                                            : sextant::probe::RunProbe(args, backends);
}
