// Whole measurements of multiplications, on a scripted GPU.
#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"
#include "gpu_probe/exit_code.h"
#include "proto/matmul_kind.h"
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::HasSubstr;

v1::MatmulShape Shape(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::MatmulShape out;
  out.set_data_type(type);
  out.set_m(m);
  out.set_n(n);
  out.set_k(k);
  return out;
}

class GpuMatmulPointsTest : public FakeSessionTest {
 protected:
  absl::StatusOr<Measurement> MeasurePoints(std::vector<Point> points, double budget_seconds) {
    ProbePlan plan;
    plan.points = std::move(points);
    return MeasurePlan(plan, budget_seconds);
  }
  // Requested shapes.
  absl::StatusOr<Measurement> MeasureShapes(const std::vector<v1::MatmulShape>& shapes) {
    auto points =
        GpuRequestedMatmulPoints(v1::PROBE_MODE_STANDARD, shapes, Open(), library_.Table());
    if (!points.ok()) return points.status();
    return MeasurePoints(*std::move(points), /*budget_seconds=*/100);
  }
  std::vector<Point> PointsOf(v1::ProbeMode mode) {
    return GpuMatmulPoints(mode, Open(), library_.Table(), &notes_);
  }

  FakeCublasLt library_{host_};
  std::vector<std::string> notes_;
};

std::set<v1::DataType> TypesIn(const v1::Calibration& calibration) {
  std::set<v1::DataType> out;
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) out.insert(m.data_type());
  return out;
}

TEST_F(GpuMatmulPointsTest, RatesAreTheGpus) {
  library_.slowness = {1, 0.8};
  const auto measured = MeasureShapes({Shape(v1::DATA_TYPE_BF16, 8192, 8192, 8192)}).value();
  ASSERT_EQ(measured.calibration.matmuls_size(), 1);
  const v1::MatmulMeasurement& matmul = measured.calibration.matmuls(0);
  EXPECT_NEAR(matmul.flops_per_second() / gpu_.bf16_flops_per_second, 1, 0.01);
  EXPECT_NEAR(matmul.best_flops_per_second() / gpu_.bf16_flops_per_second, 1.25, 0.01);
  EXPECT_EQ(matmul.engine(), "cublaslt 13.1.0");
  EXPECT_EQ(matmul.kernel(), "tile 23 stages 16 cluster 3 waves 3.9");
  EXPECT_EQ(matmul.best_kernel(), "tile 24 stages 16 cluster 3 waves 3.9");
  EXPECT_EQ(matmul.window(), v1::MatmulMeasurement::WINDOW_BURST);
  EXPECT_EQ(matmul.purpose(), v1::MatmulMeasurement::PURPOSE_REQUESTED);
  EXPECT_FALSE(matmul.has_fast_accumulation());
  EXPECT_GE(matmul.time().sample_count(), 8);
  EXPECT_GE(measured.calibration.checked_result_count(), 2);
}

TEST_F(GpuMatmulPointsTest, WhereTheFirstChoiceIsBestNoOtherIsTold) {
  library_.slowness = {1, 1.5};
  const auto measured = MeasureShapes({Shape(v1::DATA_TYPE_FP8_E4M3, 64, 1024, 1024)}).value();
  EXPECT_FALSE(measured.calibration.matmuls(0).has_best_flops_per_second());
  EXPECT_EQ(measured.calibration.matmuls(0).best_kernel(), "");
  EXPECT_TRUE(measured.calibration.matmuls(0).fast_accumulation());
}

TEST_F(GpuMatmulPointsTest, AShapeWithoutATypeIsBf16) {
  const auto measured = MeasureShapes({Shape(v1::DATA_TYPE_UNSPECIFIED, 1, 17, 3)}).value();
  EXPECT_EQ(measured.calibration.matmuls(0).data_type(), v1::DATA_TYPE_BF16);
}

TEST_F(GpuMatmulPointsTest, ShapesThatCanNotBe) {
  EXPECT_EQ(MeasureShapes({Shape(v1::DATA_TYPE_BF16, 0, 1, 1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MeasureShapes({Shape(v1::DATA_TYPE_BF16, 1, 1'000'001, 1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MeasureShapes({Shape(v1::DATA_TYPE_NVFP4, 1, 32, 32)}).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(MeasureShapes({Shape(v1::DATA_TYPE_FP8_E4M3, 5, 24, 32)}),
              Says("n and k must be multiples of 16"));
  EXPECT_EQ(MeasureShapes({Shape(v1::DATA_TYPE_FP32, 100'000, 100'000, 100'000)}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(GpuMatmulPointsTest, StandardFitsItsTime) {
  const auto measured =
      MeasurePoints(PointsOf(v1::PROBE_MODE_STANDARD), /*budget_seconds=*/3).value();
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
  EXPECT_LT(host_.slept_seconds(), 3);
  EXPECT_EQ(TypesIn(measured.calibration),
            (std::set<v1::DataType>{v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3, v1::DATA_TYPE_TF32,
                                    v1::DATA_TYPE_FP32, v1::DATA_TYPE_INT8}));
  const MatmulList sustained = MatmulsWhere(measured.calibration, IsSustained);
  ASSERT_EQ(sustained.size(), 1u);
  EXPECT_EQ(sustained[0]->m(), 8192);
  EXPECT_EQ(sustained[0]->purpose(), v1::MatmulMeasurement::PURPOSE_GRID);
  EXPECT_THAT(notes_, testing::Contains(HasSubstr("NVFP4 needs compute capability 10.0")));
  EXPECT_EQ(host_.cuda.allocated_bytes(), 0) << "all is given back";
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

TEST_F(GpuMatmulPointsTest, FullHasMoreTypesAndOtherLayouts) {
  gpu_.major = 10;
  const auto measured = MeasurePoints(PointsOf(v1::PROBE_MODE_FULL), /*budget_seconds=*/60).value();
  EXPECT_EQ(TypesIn(measured.calibration).size(), 9u);
  EXPECT_EQ(MatmulsWhere(measured.calibration, IsSustained).size(), 2u);
  const MatmulList others = MatmulsWhere(measured.calibration, IsOther);
  EXPECT_EQ(others.size(), 10u);
  std::set<int64_t> batches;
  std::set<int> layouts;
  int precise_count = 0;
  for (const v1::MatmulMeasurement* m : others) {
    EXPECT_EQ(m->window(), v1::MatmulMeasurement::WINDOW_BURST);
    batches.insert(m->batch_count());
    layouts.insert(m->layout());
    if (m->has_fast_accumulation() && !m->fast_accumulation()) ++precise_count;
    EXPECT_NEAR(m->flops_per_second(),
                gpu_.bf16_flops_per_second * (m->data_type() == v1::DATA_TYPE_BF16 ? 1 : 2),
                0.05 * m->flops_per_second());
  }
  EXPECT_EQ(batches, (std::set<int64_t>{0, 128}));
  EXPECT_EQ(layouts.size(), 3u);
  EXPECT_EQ(precise_count, 1);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(GpuMatmulPointsTest, AnA100HasNoFp8) {
  gpu_.major = 8;
  const auto measured = MeasurePoints(PointsOf(v1::PROBE_MODE_QUICK), /*budget_seconds=*/2).value();
  EXPECT_EQ(TypesIn(measured.calibration),
            (std::set<v1::DataType>{v1::DATA_TYPE_BF16, v1::DATA_TYPE_TF32, v1::DATA_TYPE_INT8}));
  EXPECT_EQ(measured.calibration.matmuls_size(), 4);
}

TEST_F(GpuMatmulPointsTest, LittleMemoryLeavesLargeShapesOut) {
  const SharedSession session = Open(/*cap_bytes=*/int64_t{600} << 20);
  auto points = GpuMatmulPoints(v1::PROBE_MODE_STANDARD, session, library_.Table(), &notes_);
  const auto measured = MeasurePoints(std::move(points), /*budget_seconds=*/30).value();
  EXPECT_LT(measured.calibration.coverage_ratio(), 1);
  EXPECT_GT(measured.calibration.coverage_ratio(), 0.5);
  EXPECT_LE(session->peak_bytes(), int64_t{600} << 20);
  EXPECT_EQ(measured.left_out.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(GpuMatmulPointsTest, WhatTheLibraryLacksIsLeftOut) {
  library_.choose_code = [](const FakeDescriptor& matmul) {
    return matmul.made_of[0] == 72 ? 15 : 0;  // int8
  };
  const auto measured = MeasurePoints(PointsOf(v1::PROBE_MODE_QUICK), /*budget_seconds=*/2).value();
  EXPECT_EQ(TypesIn(measured.calibration).count(v1::DATA_TYPE_INT8), 0u);
  EXPECT_THAT(measured.calibration.notes(0), HasSubstr("int8"));
}

TEST_F(GpuMatmulPointsTest, WeightsComeFromMemory) {
  // For the smallest B consecutive runs use more copies than fit into the cache.
  std::vector<cuda::Address> b;
  library_.multiply_code = [&](const FakeMatmulCall& call) {
    if (call.choice == 0 && call.layouts[0].made_of[0] == 14) b.push_back(call.operands[0]);
    return 0;
  };
  ASSERT_THAT(MeasureShapes({Shape(v1::DATA_TYPE_BF16, 1, 1024, 1024)}), IsOk());
  const std::set<cuda::Address> different(b.begin(), b.end());
  EXPECT_GE(different.size() * 2 * 1024 * 1024, 3u * 62'914'560);
  EXPECT_LE(*different.rbegin() - *different.begin(), 512u << 20);
}

TEST_F(GpuMatmulPointsTest, AWrongProductIsAMismatch) {
  for (const char* kernel : {"check_matmul", "check_exact_matmul"}) {
    gpu_.wrong_kernels = {kernel};
    const absl::Status status = MeasureShapes({Shape(v1::DATA_TYPE_BF16, 64, 600, 1024)}).status();
    EXPECT_THAT(status, FailsSaying(absl::StatusCode::kDataLoss, "bf16 64x600x1024: wrong product"))
        << kernel;
    EXPECT_EQ(FailureOf(status).kind(), v1::ProbeFailure::KIND_MISMATCH);
  }
}

TEST_F(GpuMatmulPointsTest, TheRowAndTheColumnsAreNamed) {
  gpu_.wrong_kernels = {"check_matmul"};  // it says 7: of three blocks a row, the second of row 2
  EXPECT_THAT(MeasureShapes({Shape(v1::DATA_TYPE_BF16, 64, 600, 1024)}),
              Says("in row 2 the columns 256 to 511 are off"));
}

TEST_F(GpuMatmulPointsTest, ResultsThatChangeAreAMismatch) {
  uint64_t hash = 0;
  host_.cuda.kernels["matmul_hash"] = [&](FakeGpu&, double, void** arguments) {
    void* const to = host_.cuda.Memory(*static_cast<cuda::Address*>(arguments[2]));
    if (to != nullptr) __builtin_memcpy(to, &++hash, sizeof(hash));
    return 1e-6;
  };
  const absl::Status status = MeasureShapes({Shape(v1::DATA_TYPE_FP32, 1, 16, 16)}).status();
  ASSERT_GT(hash, 0u);
  EXPECT_THAT(status, FailsSaying(absl::StatusCode::kDataLoss, "the results differ"));
}

TEST_F(GpuMatmulPointsTest, TheFastestAlgorithmIsCheckedToo) {
  library_.slowness = {1, 0.5};
  int check_count = 0;
  host_.cuda.kernels["check_matmul"] = [&](FakeGpu& its_gpu, double, void**) {
    // The first check of all is that of the other algorithm.
    if (++check_count == 1) its_gpu.wrong_kernels = {"check_matmul"};
    return 1e-6;
  };
  EXPECT_EQ(MeasureShapes({Shape(v1::DATA_TYPE_BF16, 64, 64, 64)}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(library_.last_call.choice, 1u);
}

TEST_F(GpuMatmulPointsTest, AGpuThatVanishes) {
  for (const int call : {1, 2, 5, 30, 200}) {
    library_.call_count = 0;
    library_.multiply_code = [&](const FakeMatmulCall&) {
      if (library_.call_count == call) gpu_.cuda_code = 700;
      return 0;
    };
    const absl::Status status =
        MeasurePoints(PointsOf(v1::PROBE_MODE_STANDARD), /*budget_seconds=*/5).status();
    EXPECT_EQ(FailureOf(status).reason(), "sticky") << call;
    EXPECT_THAT(status, Says("700"));
    gpu_.cuda_code = 0;
  }
}

}  // namespace
}  // namespace sextant::probe
