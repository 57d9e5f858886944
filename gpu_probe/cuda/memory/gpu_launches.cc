#include "gpu_probe/cuda/memory/gpu_launches.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant {
namespace {

class LaunchWorkload : public GpuWorkload {
 public:
  LaunchWorkload(bool recorded, const SharedSession& session)
      : GpuWorkload(session, recorded ? HostPart::kRecords : HostPart::kBlocks) {}

  void Poison() override {}  // it writes nothing
  // That all launches ended, and none with a fault.
  absl::Status Check() override { return session().Synchronize(); }

 private:
  absl::Status Enqueue() override {
    return session().Launch("do_nothing", {.block_count = 1, .thread_count = 32});
  }
};

Point LaunchPoint(v1::LaunchMeasurement::Kind kind, const SharedSession& session) {
  const bool recorded = kind == v1::LaunchMeasurement::KIND_GRAPH;
  Point point;
  point.phase = "launch";
  point.label = recorded ? "empty kernels, recorded" : "empty kernels, one call each";
  point.work = 1;
  point.unit = "kernels/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    return std::make_unique<LaunchWorkload>(recorded, session);
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::LaunchMeasurement* const measured = out->add_launches();
    measured->set_kind(kind);
    *measured->mutable_time() = time;
  };
  return point;
}

}  // namespace

std::vector<Point> GpuLaunchPoints(const SharedSession& session) {
  return {LaunchPoint(v1::LaunchMeasurement::KIND_STREAM, session),
          LaunchPoint(v1::LaunchMeasurement::KIND_GRAPH, session)};
}

}  // namespace sextant
