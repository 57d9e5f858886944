#include "engine/hardware/kernels/grouped_matmul_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

// A kernel that exists only here: reads weights at 3e12 bytes a second or multiplies at 800e12
// FLOP/s, whichever is slower, rows filled up to 128; permutes tokens at 2e12 bytes a second.
double SimulatedSeconds(const GroupedMatmulShape& shape) {
  const auto local = static_cast<double>(shape.experts / shape.expert_parallel);
  const double rows = static_cast<double>(shape.tokens * shape.experts_per_token) /
                      static_cast<double>(shape.expert_parallel);
  const double filled = std::ceil(rows / local / 128) * 128;
  const double weights = local * static_cast<double>(3 * shape.hidden * shape.intermediate);
  const double slower = std::max(weights * 2 / 3e12, 2 * weights * filled / 800e12);
  return 30e-6 + slower + rows * static_cast<double>(shape.hidden) * 4 / 2e12;
}

std::vector<GroupedMatmulPoint> ExpertPoints() {
  std::vector<GroupedMatmulPoint> out;
  for (const int64_t tokens : {256, 1024, 4096, 16384}) {
    for (const int64_t hidden : {2048, 4096, 7168}) {
      for (const int64_t parallel : {1, 4, 16}) {
        const GroupedMatmulShape shape = {.tokens = tokens,
                                          .hidden = hidden,
                                          .intermediate = hidden / 2,
                                          .experts_per_token = 8,
                                          .experts = 64,
                                          .expert_parallel = parallel};
        out.push_back({.shape = shape, .time = Seconds(SimulatedSeconds(shape))});
      }
    }
  }
  return out;
}

// 4096 tokens of 8 of 64 experts on 4 devices: 8192 rows for 16 experts, 512 each.
TEST(GroupedMatmulShape, CountsOneDevicesShare) {
  GroupedMatmulShape shape = {.tokens = 4096,
                              .hidden = 10,
                              .intermediate = 100,
                              .experts_per_token = 8,
                              .experts = 64,
                              .expert_parallel = 4};
  EXPECT_EQ(ExpertRows(shape), 8192);
  EXPECT_EQ(RowsPerExpert(shape), 512);
  EXPECT_EQ(ActiveWeights(shape), 16 * 3000.0);
  EXPECT_EQ(GroupedMatmulFlops(shape), 2.0 * 8192 * 3000);
  shape.gated = false;
  EXPECT_EQ(GroupedMatmulFlops(shape), 2.0 * 8192 * 2000);
  shape.tokens = 4;  // 8 rows ask for at most 8 of the 16 experts
  EXPECT_EQ(ActiveWeights(shape), 8 * 2000.0);
}

// 300 rows an expert are filled up to 384: 1.28 times as slow to multiply as to read.
TEST(GroupedMatmulTerms, AreThoseWorkedByHand) {
  const GroupedMatmulShape shape = {.tokens = 600,
                                    .hidden = 2,
                                    .intermediate = 5,
                                    .experts_per_token = 2,
                                    .experts = 4,
                                    .expert_parallel = 2};
  const TermShape terms = GroupedMatmulTerms(shape, {.row_tile = 128, .balance_rows = 300});
  EXPECT_EQ(terms.terms, (TermArray{1, 60, 60 * 384, 60 * 1.28, 1200, 600 * 2, 600 * 5, 600}));
}

TEST(GroupedMatmulModel, PredictsShapesThatItHasNotSeen) {
  const std::vector<GroupedMatmulPoint> points = ExpertPoints();
  const GroupedMatmulModel model = GroupedMatmulModel::Of({.points = points}).value();
  EXPECT_LT(model.error().median_absolute, 0.05);
  for (const int64_t tokens : {512, 2048, 6144}) {
    for (const int64_t hidden : {3072, 5120}) {
      const GroupedMatmulShape shape = {.tokens = tokens,
                                        .hidden = hidden,
                                        .intermediate = 2048,
                                        .experts_per_token = 8,
                                        .experts = 64,
                                        .expert_parallel = 2};
      const KernelTime time = model.Predict(shape);
      EXPECT_NEAR(time.expected.value() / SimulatedSeconds(shape), 1, 0.12)
          << tokens << " tokens, " << hidden;
      EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
    }
  }
}

// 65536 tokens: two octaves more rows an expert than measured.
TEST(GroupedMatmulModel, WidensOutsideItsPoints) {
  const std::vector<GroupedMatmulPoint> points = ExpertPoints();
  const GroupedMatmulModel model = GroupedMatmulModel::Of({.points = points}).value();
  GroupedMatmulShape shape = points.back().shape;
  const KernelTime inside = model.Predict(shape);
  shape.tokens *= 4;
  const KernelTime outside = model.Predict(shape);
  EXPECT_EQ(inside.basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(outside.basis, KernelBasis::kOutsideGrid);
  EXPECT_NEAR(outside.high.value() / outside.expected.value(),
              inside.high.value() / inside.expected.value() * 1.25 * 1.25, 1e-9);
}

TEST(GroupedMatmulModel, RefusesDamagedPointsByTheirField) {
  using Points = std::vector<GroupedMatmulPoint>;
  const struct {
    std::function<void(Points&)> damage;
    const char* field;
  } cases[] = {
      {[](Points& points) { points.clear(); }, "points"},
      {[](Points& points) { points.resize(15); }, "points"},
      {[](Points& points) { points[3].time = Seconds(std::numeric_limits<double>::quiet_NaN()); },
       "points[3].seconds"},
      {[](Points& points) { points[4].time = Seconds(-1); }, "points[4].seconds"},
      {[](Points& points) { points[6].shape = points[2].shape; }, "points[6]"},
      {[](Points& points) { points[0].shape.tokens = 0; }, "points[0].tokens"},
      {[](Points& points) { points[0].shape.expert_parallel = 3; }, "points[0].expert_parallel"},
      {[](Points& points) { points[0].shape.experts_per_token = 65; },
       "points[0].experts_per_token"},
      {[](Points& points) { points[33].time = Seconds(1e-6); }, "points[33].seconds"}};
  for (const auto& each : cases) {
    Points points = ExpertPoints();
    const auto model_of = [&points] {
      return GroupedMatmulModel::Of({.peak = FlopsPerSecond(989e12), .points = points});
    };
    ASSERT_THAT(model_of(), IsOk());
    each.damage(points);
    EXPECT_THAT(model_of(),
                NamesFields(ElementsAre(absl::StrCat("calibration.grouped_gemm.", each.field))));
  }
}

}  // namespace
}  // namespace sextant
