// Attention's points, on a fake GPU with a fake cuDNN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/attention/gpu_attention_points.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "tests/gpu_probe/cuda/fake_cudnn.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuAttentionTest : public FakeSessionTest {
 protected:
  std::vector<Point> Points(v1::ProbeMode mode) {
    if (session_ == nullptr) session_ = Open(cap_bytes_);
    return GpuAttentionPoints(mode, session_, cudnn_.Table(), &notes_);
  }
  absl::StatusOr<Measurement> MeasureAll(v1::ProbeMode mode) {
    ProbePlan plan;
    plan.points = Points(mode);
    plan.device = session_->device();
    plan.finish = [](v1::Calibration*) {};
    plan.notes = notes_;
    return Measure(plan, {.budget_seconds = 30, .shuffle_seed = 1}, clock_,
                   [](const v1::ProbeProgress&) { return true; });
  }

  int64_t cap_bytes_ = kCapBytes;
  FakeCudnn cudnn_{host_};
  SharedSession session_;
  std::vector<std::string> notes_;
};

TEST_F(GpuAttentionTest, EveryPointIsMeasuredAtTheRateOfTheGpu) {
  const v1::Calibration calibration = MeasureAll(v1::PROBE_MODE_FULL).value().calibration;
  EXPECT_THAT(calibration.notes(), IsEmpty());
  ASSERT_EQ(calibration.attentions_size(), 48);
  int backward_count = 0;
  for (const v1::AttentionMeasurement& it : calibration.attentions()) {
    const bool backward = it.training_pass() == v1::AttentionMeasurement::PASS_BACKWARD;
    backward_count += backward ? 1 : 0;
    EXPECT_EQ(it.engine(), "cudnn 9.19.0");
    EXPECT_EQ(it.data_type(), v1::DATA_TYPE_BF16);
    // The fake's 0.7 of 8e14, and what starting takes; it masks half, and a causal mask leaves
    // (s + 1) / (2 s).
    const double flops = it.flops_per_second() * it.time().median_seconds();
    const double kept = it.causal() ? 1 + 1.0 / static_cast<double>(it.sequence_length()) : 1;
    EXPECT_NEAR(flops / kept / (it.time().median_seconds() - 5e-6) / 5.6e14, 1, 1e-3)
        << it.ShortDebugString();
  }
  EXPECT_EQ(backward_count, 8);
  EXPECT_EQ(calibration.attentions(0).head_size(), 128);
}

TEST_F(GpuAttentionTest, ForwardPassesOfAKindShareAKernel) {
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_FULL), IsOk());
  EXPECT_EQ(cudnn_.compiled_count(), 4 + 8);  // kinds of forward passes, and each backward one
}

TEST_F(GpuAttentionTest, WithoutDynamicShapesEachHasItsOwn) {
  cudnn_.dynamic_shapes = false;
  EXPECT_EQ(MeasureAll(v1::PROBE_MODE_STANDARD).value().calibration.attentions_size(), 8);
  EXPECT_EQ(cudnn_.compiled_count(), 8);
}

TEST_F(GpuAttentionTest, NothingIsLeftBehind) {
  session_ = Open();
  const int64_t objects_before = host_.cuda.live_object_count();
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_FULL), IsOk());
  EXPECT_EQ(cudnn_.live_object_count(), 0);
  EXPECT_EQ(host_.cuda.allocated_bytes(), 0);
  EXPECT_EQ(host_.cuda.live_object_count(), objects_before);
  EXPECT_LE(session_->peak_bytes(), cap_bytes_);
}

TEST_F(GpuAttentionTest, AtLeastEightOfEachKindMakeAModelOfTimes) {
  std::map<std::string, int> kinds;
  for (const GpuAttentionShape& shape : ForwardAttentionShapes(v1::PROBE_MODE_FULL)) {
    ++kinds[absl::StrCat(shape.head_size, shape.causal)];
    EXPECT_EQ(shape.heads % shape.kv_heads, 0);
    EXPECT_EQ(shape.sequence % 128, 0);
  }
  EXPECT_EQ(kinds.size(), 4);
  for (const auto& [kind, count] : kinds) EXPECT_GE(count, 8) << kind;
  EXPECT_EQ(ForwardAttentionShapes(v1::PROBE_MODE_STANDARD).size(), 8);
  EXPECT_EQ(ForwardAttentionShapes(v1::PROBE_MODE_FULL).size(), 40);
  EXPECT_EQ(BackwardAttentionShapes(v1::PROBE_MODE_FULL).size(), 8);
  EXPECT_THAT(Points(v1::PROBE_MODE_QUICK), IsEmpty());
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(GpuAttentionTest, FlopsAreThoseOfThePairsThatTheMaskAllows) {
  const GpuAttentionShape causal = {
      .batch = 2, .sequence = 4, .heads = 3, .kv_heads = 1, .head_size = 8, .value_head_size = 16};
  EXPECT_EQ(causal.ForwardFlops(), 2.0 * 3 * 10 * 2 * (8 + 16));
  EXPECT_EQ(causal.BackwardFlops(), 2.5 * causal.ForwardFlops());
  GpuAttentionShape full = causal;
  full.causal = false;
  EXPECT_EQ(full.ForwardFlops(), 2.0 * 3 * 16 * 2 * (8 + 16));
  EXPECT_EQ(causal.Text(), "2x4 3/1 heads of 8/16 causal");
}

TEST_F(GpuAttentionTest, WithoutCudnnThereIsANote) {
  session_ = Open();
  EXPECT_THAT(GpuAttentionPoints(v1::PROBE_MODE_STANDARD, session_,
                                 absl::NotFoundError("libcudnn.so.9: no such file"), &notes_),
              IsEmpty());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("attention is not measured: cuDNN could not be loaded "
                                            "(libcudnn.so.9: no such file)")));
}

TEST_F(GpuAttentionTest, AnOldCudnnIsNotUsed) {
  cudnn_.version_number = 91001;
  cudnn_.version = "9.10.1";
  EXPECT_THAT(Points(v1::PROBE_MODE_FULL), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre("attention is not measured: cuDNN 9.10.1 is older than 9.10.2"));
}

TEST_F(GpuAttentionTest, WhatCudnnHasNoKernelForIsLeftOut) {
  cudnn_.unknown_head_sizes = {192};
  const auto measured = MeasureAll(v1::PROBE_MODE_FULL).value();
  EXPECT_EQ(measured.calibration.attentions_size(), 40);
  EXPECT_THAT(measured.calibration.notes(0), HasSubstr("cuDNN 9.19.0 has no kernel for it"));
}

TEST_F(GpuAttentionTest, ACudnnThatDoesNotStartLeavesAttentionOut) {
  cudnn_.create_code = 1001;
  const Point point = Points(v1::PROBE_MODE_STANDARD).front();
  EXPECT_THAT(point.make(), FailsSaying(absl::StatusCode::kUnimplemented,
                                        "cudnnCreate of cuDNN 9.19.0 failed with "
                                        "1001: as scripted"));
}

TEST_F(GpuAttentionTest, MemoryThatIsShortLeavesTheLargestOut) {
  cap_bytes_ = int64_t{512} << 20;
  const auto measured = MeasureAll(v1::PROBE_MODE_FULL).value();
  EXPECT_GT(measured.calibration.attentions_size(), 10);
  EXPECT_LT(measured.calibration.attentions_size(), 48);
  EXPECT_THAT(measured.calibration.notes(), Contains(HasSubstr("needs")));
  std::map<std::pair<int, bool>, int> of_kind;
  for (const v1::AttentionMeasurement& attention : measured.calibration.attentions()) {
    ++of_kind[{static_cast<int>(attention.training_pass() * 1000 + attention.head_size()),
               attention.causal()}];
  }
  for (const auto& [kind, count] : of_kind) EXPECT_GE(count, 8) << "or none";
  EXPECT_LE(session_->peak_bytes(), cap_bytes_);
}

TEST_F(GpuAttentionTest, AWorkspaceBeyondWhatIsThereLeavesThePointOut) {
  cudnn_.workspace_bytes = int64_t{1} << 40;
  const Point point = Points(v1::PROBE_MODE_STANDARD).front();
  EXPECT_EQ(point.make().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(GpuAttentionTest, WrongResultsAreAMismatchOfAttention) {
  for (const char* kernel : {"check_attention_rows", "check_attention_columns",
                             "check_attention_statistics", "check_attention_written"}) {
    gpu_.wrong_kernels = {kernel};
    const auto measured = MeasureAll(v1::PROBE_MODE_FULL);
    EXPECT_THAT(measured, FailsSaying(absl::StatusCode::kDataLoss, "attention ")) << kernel;
  }
}

TEST_F(GpuAttentionTest, AWrongResultIsNamedByItsPlace) {
  gpu_.wrong_kernels = {"check_attention_rows"};
  const auto workload = Points(v1::PROBE_MODE_STANDARD).front().make().value();
  workload->Poison();
  ASSERT_THAT(workload->Run(1), IsOk());
  // The fake's is number 7: of the first sampled token, which is token 0.
  EXPECT_THAT(workload->Check(),
              Says("1 of 4096 outputs that were compared are wrong, at sequence 0, head "));
  EXPECT_THAT(workload->Check(), Says("token 0, feature 7 first"));
}

TEST_F(GpuAttentionTest, ARunThatFailsIsNoMeasurement) {
  const auto workload = Points(v1::PROBE_MODE_STANDARD).front().make().value();
  cudnn_.execute_code = 5000;
  EXPECT_EQ(workload->Run(1).code(), absl::StatusCode::kInternal);
}

TEST_F(GpuAttentionTest, AGpuThatVanishesEndsTheMeasurement) {
  session_ = Open();
  host_.At(0.01, [this] { gpu_.cuda_code = 719; });
  EXPECT_EQ(MeasureAll(v1::PROBE_MODE_FULL).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sextant::probe
