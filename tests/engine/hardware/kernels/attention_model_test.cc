#include "engine/hardware/kernels/attention_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

constexpr AttentionShape kHead128 = {.query_key_head_size = 128, .value_head_size = 128};

AttentionModel ModelOf(const std::vector<AttentionPoint>& points, int64_t units = 132) {
  return AttentionModel::Of({.compute_units = units, .points = points}).value();
}

double Ratio(Seconds a, Seconds b) { return a.value() / b.value(); }

// Shapes between those of a calibration.
std::vector<AttentionShape> UnseenShapes(AttentionShape like) {
  std::vector<AttentionShape> out;
  for (const int64_t sequence : {1536, 3072, 6144, 12288}) {
    for (const int64_t heads : {8, 12, 24, 48, 96}) {
      like.sequence = sequence;
      like.heads = heads;
      like.key_value_heads = heads % 8 == 0 ? heads / 4 : heads;
      out.push_back(like);
    }
  }
  return out;
}

struct KernelCase {
  AttentionShape like;
  SimulatedKernel kernel;
};

TEST(AttentionModel, PredictsShapesThatItHasNotSeen) {
  const KernelCase cases[] = {
      {kHead128, {}},
      {kHead128, {.units = 148, .query_tile = 256}},
      {{.query_key_head_size = 64, .value_head_size = 64, .causal = false}, {}},
      {{.query_key_head_size = 192, .value_head_size = 128}, {}},  // latent
      {{.query_key_head_size = 128, .value_head_size = 128, .window = 1024}, {}},
      {{.query_key_head_size = 128, .value_head_size = 128, .window = 4096},
       {.window = WindowForm::kChunked}},
  };
  for (const auto& [like, kernel] : cases) {
    SCOPED_TRACE(absl::StrCat("keys of ", like.query_key_head_size, ", window ", like.window));
    const AttentionModel model = ModelOf(SimulatedPoints(like, kernel), kernel.units);
    EXPECT_LT(model.error().median_absolute, 0.05);
    EXPECT_EQ(model.error().shape_count, 25);
    int near = 0;
    for (const AttentionShape& shape : UnseenShapes(like)) {
      const KernelTime time = model.Predict(shape);
      const double error = time.expected.value() / SimulatedSeconds(shape, kernel) - 1;
      EXPECT_LT(std::abs(error), 0.2) << shape.sequence << " tokens, " << shape.heads << " heads";
      if (std::abs(error) < 0.1) ++near;
      EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
      EXPECT_LE(time.low, time.expected);
      EXPECT_GE(time.high, time.expected);
    }
    EXPECT_GE(near, 18);  // of 20
  }
}

// Head sizes of 64 and 256 measured: 128 lies between, 512 beyond, and so do the intervals.
TEST(AttentionModel, InterpolatesHeadSizes) {
  std::vector<AttentionPoint> points;
  for (const int64_t size : {64, 256}) {
    AttentionShape like = kHead128;
    like.query_key_head_size = like.value_head_size = size;
    const std::vector<AttentionPoint> more = SimulatedPoints(like, {});
    points.insert(points.end(), more.begin(), more.end());
  }
  const AttentionModel model = ModelOf(points);
  AttentionShape shape = {.batch = 4,
                          .sequence = 4096,
                          .heads = 16,
                          .key_value_heads = 16,
                          .query_key_head_size = 128,
                          .value_head_size = 128};
  const KernelTime between = model.Predict(shape);
  EXPECT_NEAR(between.expected.value() / SimulatedSeconds(shape, {}), 1, 0.1);
  EXPECT_EQ(between.basis, KernelBasis::kWithinGrid);
  const double between_width = between.high.value() / between.low.value();
  shape.query_key_head_size = shape.value_head_size = 256;
  const KernelTime known = model.Predict(shape);
  EXPECT_GT(between_width, 1.1 * known.high.value() / known.low.value());
  shape.query_key_head_size = shape.value_head_size = 512;
  const KernelTime beyond = model.Predict(shape);
  EXPECT_EQ(beyond.basis, KernelBasis::kOutsideGrid);
  EXPECT_GT(beyond.high.value() / beyond.low.value(), between_width);
}

// 65536 tokens are two octaves beyond the points.
TEST(AttentionModel, WidensOutsideItsPoints) {
  const AttentionModel model = ModelOf(SimulatedPoints(kHead128, {}));
  AttentionShape shape = kHead128;
  shape.heads = shape.key_value_heads = 16;
  shape.sequence = 16384;
  const KernelTime inside = model.Predict(shape);
  shape.sequence = 65536;
  const KernelTime outside = model.Predict(shape);
  EXPECT_EQ(inside.basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(outside.basis, KernelBasis::kOutsideGrid);
  EXPECT_NEAR(outside.high.value() / outside.expected.value(),
              inside.high.value() / inside.expected.value() *
                  std::pow(AttentionFallbacks::kOctaveAbove.high, 2),
              1e-9);
  EXPECT_NEAR(outside.low.value() / outside.expected.value(),
              inside.low.value() / inside.expected.value() *
                  std::pow(AttentionFallbacks::kOctaveAbove.low, 2),
              1e-9);
}

// The kernel that was measured without a window answers for one, and for no mask, with less
// certainty.
TEST(AttentionModel, WidensForOtherMasks) {
  const AttentionModel model = ModelOf(SimulatedPoints(kHead128, {}));
  AttentionShape shape = kHead128;
  shape.heads = shape.key_value_heads = 16;
  shape.sequence = 4096;
  const auto upper = [&](const AttentionShape& of) {
    const KernelTime time = model.Predict(of);
    return time.high.value() / time.expected.value();
  };
  const double known = upper(shape);
  AttentionShape windowed = shape;
  windowed.window = 512;
  EXPECT_NEAR(upper(windowed) / known, AttentionFallbacks::kOtherWindow.high, 1e-9);
  EXPECT_EQ(model.Predict(windowed).basis, KernelBasis::kOutsideGrid);
  AttentionShape full = shape;
  full.causal = false;
  EXPECT_NEAR(upper(full) / known, AttentionFallbacks::kFullByCausal.high, 1e-9);
  AttentionShape idle = shape;
  idle.window = 4096;  // hides nothing
  EXPECT_EQ(model.Predict(idle).expected, model.Predict(shape).expected);
  EXPECT_EQ(model.Predict(idle).basis, KernelBasis::kWithinGrid);
}

// A slower kernel was measured for full masks, with heads of 64 alone. From an octave away on, the
// causal kernel answers, which was measured with that head size; between them it is a mixture
// without a step.
TEST(AttentionModel, TakesTheHeadSizeBeforeTheMask) {
  AttentionShape small = kHead128;
  small.query_key_head_size = small.value_head_size = 64;
  std::vector<AttentionPoint> points = SimulatedPoints(kHead128, {});
  for (const AttentionPoint& point : SimulatedPoints(small, {})) points.push_back(point);
  const AttentionModel causal = ModelOf(points);
  small.causal = false;
  const SimulatedKernel slow = {.seconds_per_pair = 1.6e-12};
  const std::vector<AttentionPoint> full = SimulatedPoints(small, slow);
  points.insert(points.end(), full.begin(), full.end());
  const AttentionModel both = ModelOf(points);
  AttentionShape shape = full[7].shape;
  const KernelTime at = both.Predict(shape);
  EXPECT_NEAR(Ratio(at.expected, full[7].time), 1, 0.05);
  EXPECT_EQ(at.basis, KernelBasis::kWithinGrid);
  shape.query_key_head_size = shape.value_head_size = 128;
  EXPECT_EQ(both.Predict(shape).expected, causal.Predict(shape).expected);
  EXPECT_EQ(both.Predict(shape).basis, KernelBasis::kOutsideGrid);
  for (int64_t size = 64; size < 160; ++size) {
    shape.query_key_head_size = shape.value_head_size = size;
    const double here = both.Predict(shape).expected.value();
    ++shape.query_key_head_size;
    EXPECT_NEAR(both.Predict(shape).expected.value() / here, 1, 0.02) << size;
  }
}

// Costs of equal lengths, with the amounts of these; 8192 queries to 4096 keys are an octave apart.
TEST(AttentionModel, WidensForUnequalLengths) {
  const AttentionModel model = ModelOf(SimulatedPoints(kHead128, {}));
  AttentionShape shape = kHead128;
  shape.heads = shape.key_value_heads = 16;
  shape.sequence = 4096;
  const KernelTime equal = model.Predict(shape);
  shape.key_sequence = 4096;
  EXPECT_EQ(model.Predict(shape).expected, equal.expected);
  EXPECT_EQ(model.Predict(shape).low, equal.low);
  EXPECT_EQ(model.Predict(shape).high, equal.high);
  EXPECT_EQ(model.Predict(shape).basis, KernelBasis::kWithinGrid);
  shape.sequence = 8192;
  shape.causal = false;
  const KernelTime ring = model.Predict(shape);
  EXPECT_EQ(ring.basis, KernelBasis::kOtherPass);
  EXPECT_NEAR(Ratio(ring.high, ring.expected),
              Ratio(equal.high, equal.expected) * AttentionFallbacks::kFullByCausal.high * 1.25,
              1e-9);
  EXPECT_NEAR(Ratio(ring.low, ring.expected),
              Ratio(equal.low, equal.expected) * AttentionFallbacks::kFullByCausal.low * 0.8, 1e-9);
  EXPECT_NEAR(Ratio(model.PredictBackward(shape).expected, ring.expected), 3, 1e-9);
}

// 16 heads of one query are 16 tiles on 132 units, each of which could take a part of the keys.
TEST(AttentionModel, AllowsForKeysDividedAmongIdleUnits) {
  const AttentionModel model = ModelOf(SimulatedPoints(kHead128, {}));
  AttentionShape shape = kHead128;
  shape.heads = shape.key_value_heads = 16;
  shape.sequence = 1;
  shape.key_sequence = 16384;
  const KernelTime time = model.Predict(shape);
  EXPECT_LT(Ratio(time.low, time.expected), 16.0 / 132);
  EXPECT_GT(time.low, Seconds(0));
}

TEST(AttentionModel, TakesThreeForwardsForABackward) {
  const AttentionModel model = ModelOf(SimulatedPoints(kHead128, {}));
  const AttentionShape shape = SimulatedPoints(kHead128, {})[7].shape;
  const KernelTime forward = model.Predict(shape);
  const KernelTime backward = model.PredictBackward(shape);
  EXPECT_NEAR(backward.expected.value(), 3 * forward.expected.value(), 1e-15);
  EXPECT_NEAR(backward.low.value(), 2.7 * forward.low.value(), 1e-15);
  EXPECT_NEAR(backward.high.value(), 3.6 * forward.high.value(), 1e-15);
  EXPECT_EQ(backward.basis, KernelBasis::kOtherPass);
}

// A calibration that lost some of its points still works.
TEST(AttentionModel, CopesWithMissingPoints) {
  std::vector<AttentionPoint> points = SimulatedPoints(kHead128, {});
  for (const size_t lost : {20, 13, 8, 3}) {
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(lost));
  }
  const AttentionModel model = ModelOf(points);
  for (const AttentionShape& shape : UnseenShapes(kHead128)) {
    EXPECT_NEAR(model.Predict(shape).expected.value() / SimulatedSeconds(shape, {}), 1, 0.15);
  }
}

TEST(AttentionModel, RefusesDamagedPointsByTheirField) {
  using Points = std::vector<AttentionPoint>;
  const struct {
    std::function<void(Points&)> damage;
    const char* field;
  } cases[] = {
      {[](Points& points) { points.clear(); }, "points"},
      {[](Points& points) { points.resize(7); }, "points"},
      {[](Points& points) { points[3].time = Seconds(std::numeric_limits<double>::quiet_NaN()); },
       "points[3].seconds"},
      {[](Points& points) { points[3].time = Seconds(std::numeric_limits<double>::infinity()); },
       "points[3].seconds"},
      {[](Points& points) { points[4].time = Seconds(0); }, "points[4].seconds"},
      {[](Points& points) { points[4].time = Seconds(-1); }, "points[4].seconds"},
      {[](Points& points) { points[4].time = Seconds(172800); }, "points[4].seconds"},
      {[](Points& points) { points[6].shape = points[2].shape; }, "points[6]"},
      {[](Points& points) { points[0].shape.sequence = 0; }, "points[0].sequence"},
      {[](Points& points) { points[0].shape.batch = (int64_t{1} << 40) + 1; }, "points[0].batch"},
      {[](Points& points) { points[0].shape.key_sequence = 512; }, "points[0].key_sequence"},
      {[](Points& points) { points[0].shape.key_value_heads = 3; }, "points[0].heads"},
      // The last is 16384 tokens and 256 heads: 1.8e13 FLOPs, at 989e12 x 1.1 at least 16 ms.
      {[](Points& points) { points[24].time = Seconds(0.015); }, "points[24].seconds"}};
  for (const auto& each : cases) {
    Points points = SimulatedPoints(kHead128, {});
    const auto model_of = [&points] {
      return AttentionModel::Of(
          {.compute_units = 132, .peak = FlopsPerSecond(989e12), .points = points});
    };
    ASSERT_THAT(model_of(), IsOk());
    each.damage(points);
    EXPECT_THAT(model_of(),
                NamesFields(ElementsAre(absl::StrCat("calibration.attention.", each.field))));
  }
}

TEST(AttentionModel, NeedsTheDevicesUnits) {
  const std::vector<AttentionPoint> points = SimulatedPoints(kHead128, {});
  EXPECT_THAT(AttentionModel::Of({.compute_units = 0, .points = points}),
              NamesFields(ElementsAre("calibration.attention.compute_units")));
}

}  // namespace
}  // namespace sextant
