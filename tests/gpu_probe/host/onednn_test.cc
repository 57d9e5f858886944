#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "gpu_probe/host/matmul_workload.h"
#include "gpu_probe/host/onednn_matmul.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(OnednnEngine, IsNotFoundWhereThereIsNone) {
  const auto engine = OnednnEngine::Create("/nowhere/libdnnl.so", kOnednnCores);
  EXPECT_THAT(engine, FailsSaying(absl::StatusCode::kNotFound, "/nowhere/libdnnl.so"));
}

TEST(OnednnEngine, RefusesAnotherLibrary) {
  const auto engine = OnednnEngine::Create("libm.so.6", kOnednnCores);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(engine.status().message(), AllOf(HasSubstr("libm.so.6"), HasSubstr("dnnl_version")));
}

TEST(OnednnEngine, RefusesAFileThatIsNoLibrary) {
  const auto engine = OnednnEngine::Create("/dev/null", kOnednnCores);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kNotFound);
}

TEST(OnednnStatusTest, NamesTheCall) {
  EXPECT_TRUE(OnednnStatus(0, "f").ok());
  EXPECT_EQ(OnednnStatus(1, "f").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(OnednnStatus(3, "f").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(OnednnStatus(5, "f").message(), "f: failed with status 5");
  EXPECT_EQ(OnednnStatus(-7, "f").code(), absl::StatusCode::kInternal);
}

class OnednnMatmulTest : public ::testing::TestWithParam<v1::DataType> {
 protected:
  // The system's oneDNN, or the one that the variable names.
  void SetUp() override {
    const char* const path = std::getenv("SEXTANT_ONEDNN_LIBRARY");
    auto engine = OnednnEngine::Create(path == nullptr ? "" : path, kOnednnCores);
    // A host without oneDNN is one that the probe runs on, by its own kernels.
    if (!engine.ok()) GTEST_SKIP() << engine.status();
    engine_ = *std::move(engine);
  }
  std::unique_ptr<OnednnEngine> engine_;
};

TEST_P(OnednnMatmulTest, IsRight) {
  // Without the instructions sums of two products saturate in 16 bits (oneDNN's guide, "Nuances of
  // int8 Computations"), and the probe measures none.
  if (GetParam() == v1::DATA_TYPE_INT8 && !MultipliesInt8(DetectCpuFeatures())) {
    GTEST_SKIP() << "this processor has no instructions for INT8";
  }
  EXPECT_THAT(engine_->name(), MatchesRegex("onednn [23]\\.[0-9]+\\.[0-9]+"));
  const auto team = UnpinnedTeam(2);
  for (const int64_t size : {1, 7, 17, 33, 257}) {
    const v1::MatmulShape shape = ShapeOf(GetParam(), size, size + 2, size + 1);
    auto matmul = engine_->Prepare(shape);
    // So is a processor without the type's instructions.
    if (absl::IsUnimplemented(matmul.status())) GTEST_SKIP() << matmul.status();
    ASSERT_TRUE(matmul.ok()) << matmul.status();
    EXPECT_NE((*matmul)->kernel(), "");
    for (uint64_t seed = 0; seed < 3; ++seed) {
      MatmulData data(shape, seed << 30);
      ASSERT_EQ((*matmul)->Run(data.operands()), absl::OkStatus());
      ASSERT_EQ(CheckMatmul(shape, data.operands(), seed, team.get()), absl::OkStatus());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OnednnMatmulTest,
                         ::testing::Values(v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16,
                                           v1::DATA_TYPE_INT8),
                         [](const auto& instance) { return v1::DataType_Name(instance.param); });

TEST_P(OnednnMatmulTest, RefusesOtherTypes) {
  EXPECT_EQ(engine_->Prepare(ShapeOf(v1::DATA_TYPE_FP64, 8, 8, 8)).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sextant::probe
