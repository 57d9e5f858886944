// Descriptions of multiplications for cuBLASLt, and the handling of its answers.
#include "gpu_probe/cuda/matmul/gpu_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "gpu_probe/cuda/matmul/gpu_matmul_workload.h"
#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;

class GpuMatmulTest : public FakeSessionTest {
 protected:
  GpuMatmulProblem Problem(v1::DataType type) {
    GpuMatmulProblem out;
    out.type = FindGpuMatmulType(type);
    out.m = 64;
    out.n = 256;
    out.k = 128;
    return out;
  }

  absl::StatusOr<std::unique_ptr<GpuMatmul>> Prepare(const GpuMatmulProblem& problem) {
    auto cublaslt = CublasLtSession::Open(library_.Table(), Open());
    if (!cublaslt.ok()) return cublaslt.status();
    return GpuMatmul::Prepare(*cublaslt, problem, {.a = 0xA000, .b = 0xB000});
  }

  // The call that the library receives for a run.
  FakeMatmulCall Called(const GpuMatmulProblem& problem) {
    const auto matmul = Prepare(problem);
    EXPECT_THAT(matmul, IsOk());
    EXPECT_THAT((*matmul)->Enqueue(0, {.a = 1 << 12, .b = 2 << 12, .c = 3 << 12}), IsOk());
    return library_.last_call;
  }

  FakeCublasLt library_{host_};
};

TEST_F(GpuMatmulTest, RowMajorIsTheTransposeOfColumnMajor) {
  const FakeMatmulCall call = Called(Problem(v1::DATA_TYPE_BF16));
  EXPECT_THAT(call.matmul.made_of, ElementsAre(68, 0));  // sums and factors in fp32
  EXPECT_EQ(call.matmul.Get<int>(3), 1);                 // its A is B, k rows by n columns
  EXPECT_EQ(call.matmul.Get<int>(4), 0);
  EXPECT_THAT(call.layouts[0].made_of, ElementsAre(14, 128, 256, 128));
  EXPECT_THAT(call.layouts[1].made_of, ElementsAre(14, 128, 64, 128));
  EXPECT_THAT(call.layouts[2].made_of, ElementsAre(14, 256, 64, 256));
  EXPECT_THAT(call.layouts[3].made_of, ElementsAre(14, 256, 64, 256));
  EXPECT_THAT(call.operands, ElementsAre(2 << 12, 1 << 12, 3 << 12, 3 << 12));
  EXPECT_EQ(call.workspace_bytes, 32u << 20);
  EXPECT_TRUE(call.layouts[0].attributes.empty());
}

TEST_F(GpuMatmulTest, OtherLayouts) {
  GpuMatmulProblem problem = Problem(v1::DATA_TYPE_BF16);
  problem.layout = v1::MatmulMeasurement::LAYOUT_ROW_BY_ROW;
  FakeMatmulCall call = Called(problem);
  EXPECT_EQ(call.matmul.Get<int>(3), 0);
  EXPECT_EQ(call.matmul.Get<int>(4), 0);
  EXPECT_THAT(call.layouts[0].made_of, ElementsAre(14, 256, 128, 256));
  EXPECT_THAT(call.layouts[1].made_of, ElementsAre(14, 128, 64, 128));
  problem.layout = v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW;
  call = Called(problem);
  EXPECT_EQ(call.matmul.Get<int>(3), 0);
  EXPECT_EQ(call.matmul.Get<int>(4), 1);
  EXPECT_THAT(call.layouts[0].made_of, ElementsAre(14, 256, 128, 256));
  EXPECT_THAT(call.layouts[1].made_of, ElementsAre(14, 64, 128, 64));
}

TEST_F(GpuMatmulTest, BatchesLieOneBehindTheOther) {
  GpuMatmulProblem problem = Problem(v1::DATA_TYPE_BF16);
  problem.batch_count = 12;
  const FakeMatmulCall call = Called(problem);
  EXPECT_EQ(call.layouts[0].Get<int32_t>(5), 12);
  EXPECT_EQ(call.layouts[0].Get<int64_t>(6), 128 * 256);
  EXPECT_EQ(call.layouts[1].Get<int64_t>(6), 128 * 64);
  EXPECT_EQ(call.layouts[3].Get<int64_t>(6), 256 * 64);
}

TEST_F(GpuMatmulTest, TypesOfOperandsSumsAndResults) {
  const auto types_of = [&](v1::DataType type) {
    const FakeMatmulCall call = Called(Problem(type));
    return std::vector<int64_t>{call.layouts[0].made_of[0], call.layouts[2].made_of[0],
                                call.matmul.made_of[0], call.matmul.made_of[1]};
  };
  gpu_.major = 10;
  EXPECT_THAT(types_of(v1::DATA_TYPE_FP16), ElementsAre(2, 2, 68, 0));
  EXPECT_THAT(types_of(v1::DATA_TYPE_TF32), ElementsAre(0, 0, 77, 0));
  EXPECT_THAT(types_of(v1::DATA_TYPE_FP32), ElementsAre(0, 0, 68, 0));
  EXPECT_THAT(types_of(v1::DATA_TYPE_FP64), ElementsAre(1, 1, 70, 1));
  EXPECT_THAT(types_of(v1::DATA_TYPE_INT8), ElementsAre(3, 10, 72, 10));
  EXPECT_THAT(types_of(v1::DATA_TYPE_FP8_E4M3), ElementsAre(28, 14, 68, 0));
  EXPECT_THAT(types_of(v1::DATA_TYPE_MXFP8), ElementsAre(28, 14, 68, 0));
  EXPECT_THAT(types_of(v1::DATA_TYPE_NVFP4), ElementsAre(33, 14, 68, 0));
  GpuMatmulProblem wide = Problem(v1::DATA_TYPE_NVFP4);
  wide.wide_output = true;
  EXPECT_EQ(Called(wide).layouts[3].made_of[0], 0);
}

TEST_F(GpuMatmulTest, ScalesAndShortSums) {
  FakeMatmulCall call = Called(Problem(v1::DATA_TYPE_FP8_E4M3));
  EXPECT_EQ(call.matmul.Get<cuda::Address>(17), 0xB000u) << "its A is B";
  EXPECT_EQ(call.matmul.Get<cuda::Address>(18), 0xA000u);
  EXPECT_EQ(call.matmul.Get<int8_t>(25), 1);
  EXPECT_EQ(call.matmul.attributes.count(31), 0u) << "cuBLAS before 12.8 knows no such attribute";
  GpuMatmulProblem precise = Problem(v1::DATA_TYPE_FP8_E4M3);
  precise.fast_accumulation = false;
  EXPECT_EQ(Called(precise).matmul.attributes.at(25).at(0), 0);
  call = Called(Problem(v1::DATA_TYPE_MXFP8));
  EXPECT_EQ(call.matmul.Get<int>(31), 2);
  EXPECT_EQ(call.matmul.Get<int>(32), 2);
  EXPECT_EQ(call.matmul.Get<cuda::Address>(17), 0xB000u);
  call = Called(Problem(v1::DATA_TYPE_NVFP4));
  EXPECT_EQ(call.matmul.Get<int>(31), 1);
  EXPECT_TRUE(Called(Problem(v1::DATA_TYPE_INT8)).matmul.attributes.count(17) == 0);
}

TEST_F(GpuMatmulTest, AnAmpereGetsTheSmallerWorkspace) {
  gpu_.major = 8;
  EXPECT_EQ(Called(Problem(v1::DATA_TYPE_BF16)).workspace_bytes, 8'519'680u);
}

TEST_F(GpuMatmulTest, WhatTheLibraryDoesNotHave) {
  for (const int code : {7, 8, 15}) {
    library_.choose_code = [code](const FakeDescriptor&) { return code; };
    EXPECT_EQ(Prepare(Problem(v1::DATA_TYPE_INT8)).status().code(),
              absl::StatusCode::kUnimplemented);
  }
  library_.choose_code = {};
  library_.slowness = {};
  EXPECT_THAT(Prepare(Problem(v1::DATA_TYPE_INT8)), Says("cublaslt 13.1.0 has no kernel for int8"));
}

TEST_F(GpuMatmulTest, OtherCodesAreErrors) {
  library_.choose_code = [](const FakeDescriptor&) { return 14; };
  EXPECT_EQ(Prepare(Problem(v1::DATA_TYPE_BF16)).status().code(), absl::StatusCode::kInternal);
  library_.create_code = 1;
  EXPECT_THAT(Prepare(Problem(v1::DATA_TYPE_BF16)),
              Says("cublasLtCreate failed with cuBLAS status 1"));
  library_.create_code = 3;
  EXPECT_EQ(Prepare(Problem(v1::DATA_TYPE_BF16)).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(GpuMatmulTest, TheGpusOwnFaultIsTold) {
  const auto matmul = Prepare(Problem(v1::DATA_TYPE_BF16)).value();
  library_.multiply_code = [](const FakeMatmulCall&) { return 13; };
  EXPECT_THAT(matmul->Enqueue(0, {}), Says("cublasLtMatmul"));
  gpu_.cuda_code = 719;
  EXPECT_THAT(matmul->Enqueue(0, {}), Says("719"));
}

TEST_F(GpuMatmulTest, NothingIsLeftBehind) {
  {
    const auto matmul = Prepare(Problem(v1::DATA_TYPE_BF16));
    EXPECT_EQ(library_.live_object_count, 5);  // handle, matmul, three layouts
  }
  library_.choose_code = [](const FakeDescriptor&) { return 15; };
  EXPECT_FALSE(Prepare(Problem(v1::DATA_TYPE_BF16)).ok());
  EXPECT_EQ(library_.live_object_count, 0);
}

TEST_F(GpuMatmulTest, AlgorithmsAreTold) {
  const auto matmul = Prepare(Problem(v1::DATA_TYPE_BF16)).value();
  EXPECT_EQ(matmul->choice_count(), 5u);
  EXPECT_EQ(matmul->KernelText(0), "tile 23 stages 16 cluster 3 waves 3.9");
  EXPECT_EQ(matmul->KernelText(1), "tile 24 stages 16 cluster 3 waves 3.9");
}

TEST_F(GpuMatmulTest, WhatIsNotToldIsLeftOut) {
  CublasLt silent = library_.Table();
  silent.describe = [](const uint64_t*, int, void*, std::size_t, std::size_t*) { return 7; };
  EXPECT_EQ(AlgorithmText(silent, {}), "");
  silent.describe = [](const uint64_t*, int, void* value, std::size_t size, std::size_t* written) {
    __builtin_memset(value, 0x7F, size);
    *written = size;
    return 0;
  };
  EXPECT_EQ(AlgorithmText(silent, {.wave_count = NAN}),
            "tile 2139062143 stages 2139062143 split-k 2139062143 cluster 32639");
}

class TryAlgorithmsTest : public GpuMatmulTest {
 protected:
  absl::StatusOr<MatmulTrial> Try(double budget_seconds) {
    GpuMatmulProblem problem = Problem(v1::DATA_TYPE_BF16);
    problem.m = problem.n = problem.k = 4096;
    const SharedSession session = Open();
    const SharedCublasLt cublaslt = *CublasLtSession::Open(library_.Table(), session);
    GpuMatmulArenaSource source(*problem.type, session);
    const GpuRotation rotation = GpuRotationOf(problem, /*touched_bytes=*/0);
    EXPECT_THAT(source.Include(problem, rotation), IsOk());
    const std::shared_ptr<GpuMatmulArena> arena = *source.Get();
    auto prepared = GpuMatmul::Prepare(cublaslt, problem, arena->scales());
    if (!prepared.ok()) return prepared.status();
    const std::shared_ptr<const GpuMatmul> matmul = *std::move(prepared);
    budget_ = {.clock = &clock_, .left_seconds = budget_seconds};
    const auto workload_of = [&](size_t choice) {
      return std::make_unique<GpuMatmulWorkload>(
          GpuMatmulWorkload::Parts{.cublaslt = cublaslt,
                                   .rotation = rotation,
                                   .arena = arena,
                                   .matmul = matmul,
                                   .choice = choice,
                                   .exact_checked = std::make_shared<bool>(true)});
    };
    return TryAlgorithms(workload_of, matmul->choice_count(), *session, budget_);
  }
  TrialBudget budget_;
};

// 4096 cubed at the simulated GPU's 8e14 FLOP/s, and what starting it takes.
constexpr double kFirstChoiceSeconds = 2e-6 + 2.0 * 4096 * 4096 * 4096 / 8e14;

TEST_F(TryAlgorithmsTest, TheFastestOfFourTimedInItsPlace) {
  // The last, which is fastest, is the fifth.
  const auto trial = Try(1).value();
  EXPECT_EQ(trial.choice, 2u);
  EXPECT_NEAR(trial.median_seconds, 0.9 * kFirstChoiceSeconds, 1e-8);
  EXPECT_LT(budget_.left_seconds, 1);
}

// The figure is of the later samples, whatever the first ones said.
TEST_F(TryAlgorithmsTest, TheBestIsNotExtrapolatedFromItsTrial) {
  int64_t calls_of_best = 0;
  library_.multiply_code = [&](const FakeMatmulCall& call) {
    if (call.choice == 2 && ++calls_of_best == 7) library_.slowness[2] = 0.95;
    return 0;
  };
  EXPECT_NEAR(Try(1)->median_seconds, 0.95 * kFirstChoiceSeconds, 1e-8);
}

TEST_F(TryAlgorithmsTest, AWrongResultOfTheBestIsAMismatch) {
  library_.slowness = {1, 0.5};
  int64_t checks = 0;
  gpu_.on_launch = [&](const std::string& kernel) {
    if (kernel.compare(0, 6, "check_") == 0 && ++checks == 1) gpu_.wrong_kernels = {kernel};
  };
  EXPECT_EQ(Try(1).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TryAlgorithmsTest, TheFirstWhereOthersAreHardlyFaster) {
  library_.slowness = {1, 0.99, 1.5};
  const auto trial = Try(1).value();
  EXPECT_EQ(trial.choice, 0u);
  EXPECT_EQ(trial.median_seconds, 0);
}

TEST_F(TryAlgorithmsTest, NoneWhereTheTimeIsUp) {
  EXPECT_EQ(Try(0)->choice, 0u);
  EXPECT_EQ(library_.call_count, 0);
}

TEST_F(TryAlgorithmsTest, OneThatFailsIsPassedOver) {
  library_.multiply_code = [](const FakeMatmulCall& call) { return call.choice == 2 ? 15 : 0; };
  EXPECT_EQ(Try(1)->choice, 0u);
  library_.multiply_code = [](const FakeMatmulCall& call) { return call.choice == 0 ? 13 : 0; };
  EXPECT_EQ(Try(1).status().code(), absl::StatusCode::kInternal);
}

constexpr char kCudaToolkit[] = "/usr/local/cuda/lib64";

TEST_F(GpuMatmulTest, TheRealLibraryTakesEveryDescription) {
  if (!std::filesystem::exists(std::string(kCudaToolkit) + "/libcublasLt.so.13")) {
    GTEST_SKIP() << "cuBLASLt 13 is not installed here";
  }
  auto real = LoadCublasLt({.folder = kCudaToolkit, .supported_cuda = 99000}).value();
  int64_t chosen_count = 0;
  real.create = [](void** handle) { return *handle = nullptr, 0; };  // it makes none without a GPU
  real.destroy = [](void*) { return 0; };
  real.choose = [&](void*, void*, void*, void*, void*, void*, void*, int, CublasLtChoice*,
                    int* found) {
    ++chosen_count;
    return *found = 1, 0;
  };
  const auto cublaslt = CublasLtSession::Open(real, Open()).value();
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    for (const bool wide : {false, true}) {
      GpuMatmulProblem problem = Problem(type.data_type);
      problem.wide_output = wide;
      problem.batch_count = wide ? 1 : 3;
      EXPECT_THAT(GpuMatmul::Prepare(cublaslt, problem, {.a = 0x1000, .b = 0x2000}), IsOk())
          << type.label();
    }
  }
  EXPECT_EQ(chosen_count, 18);
}

}  // namespace
}  // namespace sextant::probe
