// sextant-probe with a scripted device in place of the host's, for tests of the program itself.
// $SEXTANT_FAKE says what the device does; its kernels are instant, or never end.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/health/run_check.h"
#include "gpu_probe/run_probe.h"

namespace sextant {
namespace {

std::string Behaviour() {
  const char* value = std::getenv("SEXTANT_FAKE");
  return value == nullptr ? "" : value;
}

class FakeWorkload : public Workload {
 public:
  void Poison() override {}
  absl::Status Run(int64_t repetition_count) override {
    if (Behaviour() == "hang") {
      while (true) pause();
    }
    if (Behaviour() == "crash") std::abort();
    for (int64_t i = 0; i < 1000 * repetition_count; ++i) sink_.fetch_add(1);
    return absl::OkStatus();
  }
  absl::Status Check() override {
    return Behaviour() == "mismatch" ? absl::DataLossError("element 7 is 1, not 2")
                                     : absl::OkStatus();
  }

 private:
  std::atomic<int64_t> sink_ = 0;
};

Point FakePoint(const v1::MatmulShape& shape, bool requested) {
  Point point;
  point.phase = "matmul fp32";
  point.label = absl::StrCat("fp32 ", shape.m(), "x", shape.n(), "x", shape.k());
  point.work = 2.0 * static_cast<double>(shape.m() * shape.n() * shape.k());
  point.unit = "FLOP/s";
  point.pass_count = 3;
  point.make = []() -> absl::StatusOr<std::unique_ptr<Workload>> {
    if (Behaviour() == "memory") return absl::ResourceExhaustedError("3 GiB are not free");
    return std::unique_ptr<Workload>(std::make_unique<FakeWorkload>());
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
    matmul->set_requested(requested);
  };
  return point;
}

std::vector<v1::Device> FakeDevices() {
  if (Behaviour() == "absent") return {};
  v1::Device device;
  const char* uuid = std::getenv("SEXTANT_FAKE_UUID");
  device.set_uuid(uuid == nullptr ? "CPU-0123456789abcdef" : uuid);
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_product_name(Behaviour() == "not_utf8" ? "\xff" : "A Processor");
  return {device};
}

absl::StatusOr<ProbePlan> FakePlan(const ProbeOptions& options) {
  if (Behaviour() == "unsupported") return absl::UnimplementedError("no int8 instructions here");
  ProbePlan plan;
  plan.device = FakeDevices().front();
  if (Behaviour() == "many_notes") plan.notes.assign(20000, "A note that takes a line.");
  for (const v1::MatmulShape& shape : options.matmuls) {
    plan.points.push_back(FakePoint(shape, /*requested=*/Behaviour() != "forgets"));
  }
  if (!plan.points.empty()) return plan;
  for (const int64_t size : {64, 128, 256}) {
    v1::MatmulShape shape;
    shape.set_m(size);
    shape.set_n(size);
    shape.set_k(size);
    plan.points.push_back(FakePoint(shape, /*requested=*/false));
  }
  return plan;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  const std::vector<sextant::Backend> backends = {
      {.name = "host", .devices = sextant::FakeDevices, .plan = sextant::FakePlan}};
  const std::vector<std::string> args(argv + 1, argv + argc);
  return sextant::AsksForCheck(args) ? sextant::RunCheck(args, backends)
                                     : sextant::RunProbe(args, backends);
}
