// A plan of exchanges on a fake host of several GPUs, the first of which is measured.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_PEERS_PEER_FIXTURE_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_PEERS_PEER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/cuda/peers/peer_plan.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/cuda/fake_nccl.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {

class PeerTest : public ::testing::Test {
 protected:
  explicit PeerTest(int gpu_count = 4) : host_(gpu_count) {
    // A lock folder of its own.
    setenv("SEXTANT_LOCK_FOLDER", locks_.path().c_str(), 1);
  }

  std::string Uuid(size_t gpu) const { return FakeHost::UuidOf(host_.gpus[gpu]); }

  SharedSession Home(int64_t cap_bytes = int64_t{2} << 30) {
    auto gpus = ListGpus(system_);
    auto session = GpuSession::Open({.driver = *system_.driver,
                                     .gpu = std::move(gpus->front()),
                                     .memory_cap_bytes = cap_bytes,
                                     .images = {{.name = "fake", .bytes = "no machine code"}}});
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  std::shared_ptr<PeerHost> Peers(const SharedSession& home) {
    auto admitted = PeerHost::Admit(system_, home, [this](double s) { host_.Sleep(s); });
    EXPECT_TRUE(admitted.ok()) << admitted.status();
    return *std::move(admitted);
  }

  // The plan that AddPeers() makes of an empty one, without NCCL.
  ProbePlan PeerPlan(const SharedSession& home) {
    ProbePlan plan;
    plan.device = home->device();
    AddPeers({.system = system_,
              .home = home,
              .search = {.folder = "/nowhere"},
              .sleep = [this](double s) { host_.Sleep(s); }},
             &plan);
    return plan;
  }

  absl::StatusOr<Measurement> MeasurePlan(const ProbePlan& plan) {
    return Measure(plan, {.start_seconds = clock_.NowSeconds(), .budget_seconds = 30}, clock_,
                   [](const v1::ProbeProgress&) { return true; });
  }

  std::vector<unsigned long long> FreeBytes() const {
    std::vector<unsigned long long> out;
    for (const FakeGpu& gpu : host_.gpus) out.push_back(gpu.memory.free);
    return out;
  }

  const TemporaryFolder locks_;
  FakeHost host_;
  CudaSystem system_ = host_.System();
  FakeNccl nccl_{host_};
  FakeHostClock clock_{host_};
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_PEERS_PEER_FIXTURE_H_
