// The real scheduler and the real plan of an H200 on a scripted clock, with the costs that no
// simulated GPU has by itself: the start, the first load of every kernel, cuDNN's compiler, NVML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/cuda/cuda_backend.h"
#include "gpu_probe/cuda/guard.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"
#include "proto/matmul_kind.h"
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_cudnn.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant::probe {
namespace {

constexpr double kStandardSeconds = 5.0;
constexpr int kBf16GridPoints = 92;

struct Costs {
  double start_seconds = 1;         // the process, both libraries of the driver, the context
  double first_load_seconds = 0;    // of each kernel, ours and each shape's of cuBLASLt
  double compile_seconds = 0.6;     // of each kernel of attention
  double heuristic_seconds = 1e-4;  // of choosing an algorithm
  double question_seconds = 2e-4;   // of each question to NVML
  double end_seconds = 0.2;         // from the last answer to the end of the process
};

struct Outcome {
  v1::Calibration calibration;
  double wall_seconds = 0;
  int bf16_points = 0;
  int fp8_points = 0;
};

// The first of eight GPUs, all of which CUDA and NVML list.
class ScheduleTest : public FakeSessionTest {
 protected:
  ScheduleTest() : FakeSessionTest(8) {}

  void LoadEachKernelOnce() {
    gpu_.on_launch = [this](const std::string& kernel) { Load(kernel); };
    cublaslt_.multiply_code = [this](const FakeMatmulCall& call) {
      Load(absl::StrCat(absl::StrJoin(call.layouts[0].made_of, " "), " by ",
                        absl::StrJoin(call.layouts[2].made_of, " ")));
      return 0;
    };
    cublaslt_.choose_code = [this](const FakeDescriptor&) {
      host_.Sleep(costs_.heuristic_seconds);
      return 0;
    };
    cudnn_.on_compile = [this] { host_.Sleep(costs_.compile_seconds); };
    for (FakeGpu& gpu : host_.gpus) {
      gpu.on_question = [this] { host_.Sleep(costs_.question_seconds); };
    }
  }
  void Load(const std::string& kernel) {
    if (loaded_.insert(kernel).second) host_.Sleep(costs_.first_load_seconds);
  }

  // A run of the probe from the start of its process to its end.
  Outcome Run(v1::ProbeMode mode, const Costs& costs, double budget_seconds = kStandardSeconds) {
    costs_ = costs;
    LoadEachKernelOnce();
    const double start_seconds = clock_.NowSeconds();
    host_.Sleep(costs.start_seconds);
    auto admitted = AdmitGpu(host_.System(), FakeHost::UuidOf(gpu_),
                             [this](double seconds) { host_.Sleep(seconds); });
    EXPECT_TRUE(admitted.ok()) << admitted.status();
    const SharedSession session = Open(admitted->memory_cap_bytes);
    ProbeOptions options;
    options.mode = mode;
    options.budget_seconds = budget_seconds;
    auto plan = GpuPlan(options, session, {.cublaslt = cublaslt_.Table(), .cudnn = cudnn_.Table()});
    EXPECT_TRUE(plan.ok()) << plan.status();
    plan->may_go_on = [&] { return admitted->guard.MayGoOn(session->allocated_bytes()); };
    auto measured = Measure(*plan,
                            {.start_seconds = start_seconds,
                             .budget_seconds = budget_seconds,
                             .ending_seconds = plan->ending_seconds,
                             .shuffle_seed = 1},
                            clock_, [](const v1::ProbeProgress&) { return true; });
    EXPECT_TRUE(measured.ok()) << measured.status();
    Outcome out;
    if (measured.ok()) out.calibration = std::move(measured->calibration);
    out.wall_seconds = clock_.NowSeconds() - start_seconds + costs.end_seconds;
    for (const v1::MatmulMeasurement* matmul : MatmulsWhere(out.calibration, IsGridBurst)) {
      if (matmul->data_type() == v1::DATA_TYPE_BF16) ++out.bf16_points;
      if (matmul->data_type() == v1::DATA_TYPE_FP8_E4M3) ++out.fp8_points;
    }
    return out;
  }

  FakeCublasLt cublaslt_{host_};
  FakeCudnn cudnn_{host_};
  Costs costs_;
  std::set<std::string> loaded_;
};

std::string Row(const Costs& costs, const Outcome& out) {
  return absl::StrFormat(
      "start %.2f s, load %2.0f ms, cuDNN %.1f s: %.2f s, coverage %.2f, bf16 %2d, fp8 %2d, "
      "attention %d, streams %d, ladder %d, sustained %d",
      costs.start_seconds, costs.first_load_seconds * 1e3, costs.compile_seconds, out.wall_seconds,
      out.calibration.coverage_ratio(), out.bf16_points, out.fp8_points,
      out.calibration.attentions_size(), out.calibration.streams_size(),
      out.calibration.elementwise_size(), MatmulsWhere(out.calibration, IsSustained).size());
}

class StandardScheduleTest
    : public ScheduleTest,
      public ::testing::WithParamInterface<std::tuple<double, double, double>> {};

TEST_P(StandardScheduleTest, EndsInTimeWithGridsThatCanBeUsed) {
  const auto& [start_seconds, load_seconds, compile_seconds] = GetParam();
  const Costs costs = {.start_seconds = start_seconds,
                       .first_load_seconds = load_seconds,
                       .compile_seconds = compile_seconds};
  const Outcome out = Run(v1::PROBE_MODE_STANDARD, costs);
  std::cout << Row(costs, out) << "\n";
  EXPECT_LE(out.wall_seconds, kStandardSeconds);
  const bool dearest = start_seconds >= 2.5 && load_seconds >= 15e-3;
  EXPECT_GE(out.bf16_points, dearest ? kMinGridPoints : 60);
  EXPECT_LE(out.bf16_points, kBf16GridPoints);
  EXPECT_GE(out.fp8_points, kMinGridPoints);
  EXPECT_EQ(MatmulsWhere(out.calibration, IsSustained).size(), 1u);
  EXPECT_TRUE(out.calibration.attentions().empty());
}

// Attention's kernels are compiled only where all of them can be used.
TEST_F(ScheduleTest, AttentionIsMeasuredWholeWhereTheBudgetIsLonger) {
  const Outcome fast = Run(v1::PROBE_MODE_STANDARD, {.first_load_seconds = 2e-3}, 8);
  EXPECT_EQ(fast.calibration.attentions_size(), 8);
  EXPECT_EQ(fast.calibration.coverage_ratio(), 1);
}

TEST_F(ScheduleTest, AttentionIsNotBegunWhereTooLittleTimeIsLeft) {
  const Outcome slow =
      Run(v1::PROBE_MODE_STANDARD, {.start_seconds = 2.5, .first_load_seconds = 15e-3}, 8);
  EXPECT_EQ(slow.calibration.attentions_size(), 0);
  EXPECT_EQ(cudnn_.compiled_count(), 0);
  EXPECT_LE(slow.wall_seconds, 8);
}

INSTANTIATE_TEST_SUITE_P(Costs, StandardScheduleTest,
                         ::testing::Combine(::testing::Values(1.0, 1.75, 2.5),
                                            ::testing::Values(0.0, 4e-3, 8e-3, 15e-3),
                                            ::testing::Values(0.6, 3.0)));

}  // namespace
}  // namespace sextant::probe
