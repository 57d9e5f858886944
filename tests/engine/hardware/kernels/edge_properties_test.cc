// Predicted times grow with work of one efficiency class, and have no steps where points end: of
// every calibration that the program brings along.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/kernels/term_fit.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/hardware/reference/reference_kernels.h"
#include "engine/hardware/reference/reference_matmuls.h"

namespace sextant {
namespace {

constexpr const char* kMeasuredProducts[] = {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm"};

int64_t AnySizeBetween(std::mt19937& random, double low_octave, double high_octave) {
  return static_cast<int64_t>(
      std::exp2(std::uniform_real_distribution<double>(low_octave, high_octave)(random)));
}

// The grid's nodes and its ends, from either side. What tiles lose is left out: that steps where
// a tile is added, on the device too.
TEST(PublishedMatmuls, HaveNoStepsAtNodesAndEnds) {
  std::mt19937 random(3);
  for (const ReferenceMatmulKey& key : ReferenceMatmulKeys()) {
    MatmulFit fit = ReferenceMatmuls(key.accelerator, key.type)->fit();
    fit.efficiency.tile_costs = {};
    const auto seconds = [&fit](const MatmulShape& shape) {
      const MatmulDimensions size(shape);
      MatmulPosition at = MatmulPositionOf(size);
      at[0] = std::clamp(at[0], kMatmulRowNodes.front(), kMatmulRowNodes.back());
      for (const size_t i : {1, 2}) {
        at[i] = std::clamp(at[i], kMatmulSizeNodes.front(), kMatmulSizeNodes.back());
      }
      return fit.SecondsAt(size, at);
    };
    for (int64_t edge = 64; edge <= 32768; edge *= 2) {
      for (int i = 0; i < 20; ++i) {
        const MatmulShape other = {AnySizeBetween(random, 6, 14), AnySizeBetween(random, 10, 15),
                                   AnySizeBetween(random, 10, 15)};
        for (int64_t MatmulShape::*side : {&MatmulShape::m, &MatmulShape::n, &MatmulShape::k}) {
          MatmulShape below = other;
          MatmulShape above = other;
          below.*side = edge - 1;
          above.*side = edge + 1;
          // The work grows by a share of 2 / edge, time at most three times as fast.
          EXPECT_NEAR(seconds(above) / seconds(below), 1, 6.0 / static_cast<double>(edge))
              << key.accelerator << " " << MatmulTypeName(key.type) << " " << edge;
        }
      }
    }
  }
}

// The sum, times the correction of a place: more of any term there is no less time.
void ExpectGrowsWithEveryTerm(const std::vector<TermPoint>& points, std::mt19937& random) {
  const TermFit fit{absl::MakeConstSpan(points)};
  for (const double cost : fit.costs()) EXPECT_GE(cost, 0);
  for (int i = 0; i < 500; ++i) {
    TermShape less = points[random() % points.size()].shape;
    less.position = points[random() % points.size()].shape.position;
    for (double& term : less.terms) term *= std::exp2(static_cast<double>(random() % 9) - 4);
    TermShape more = less;
    more.terms[random() % more.terms.size()] *= 1 + static_cast<double>(random() % 100) / 50;
    EXPECT_GE(fit.Seconds(more), fit.Seconds(less) * (1 - 1e-12));
  }
}

TEST(PublishedAttention, GrowsWithWorkOfOneClass) {
  std::mt19937 random(4);
  for (const char* device : kMeasuredProducts) {
    for (const bool latent : {false, true}) {
      const AttentionReference* reference = FindAttentionReference(device, DataType::kBf16, latent);
      ASSERT_NE(reference, nullptr) << device;
      std::vector<TermPoint> points;
      for (const AttentionPoint& point : PointsOf(*reference)) {
        points.push_back({AttentionTerms(point.shape, {}, 132), point.time.value()});
      }
      ExpectGrowsWithEveryTerm(points, random);
    }
  }
}

TEST(PublishedExperts, GrowWithWorkOfOneClass) {
  std::mt19937 random(5);
  for (const char* device : kMeasuredProducts) {
    const GroupedMatmulReference* reference =
        FindGroupedMatmulReference({.device = device, .data_type = DataType::kBf16});
    ASSERT_NE(reference, nullptr) << device;
    std::vector<TermPoint> points;
    for (const GroupedMatmulPoint& point : PointsOf(*reference)) {
      points.push_back({GroupedMatmulTerms(point.shape, {}), point.time.value()});
    }
    ExpectGrowsWithEveryTerm(points, random);
  }
}

// Twice as many tokens, or as large experts, take longer across classes too; one row or column
// more is not a step, within the points and beyond them.
TEST(PublishedExperts, TakeLongerForTwiceTheWorkAndHaveNoSteps) {
  for (const char* device : kMeasuredProducts) {
    const GroupedMatmulReference* reference =
        FindGroupedMatmulReference({.device = device, .data_type = DataType::kBf16});
    ASSERT_NE(reference, nullptr) << device;
    const GroupedMatmulModel model =
        GroupedMatmulModel::Of({.points = PointsOf(*reference)}).value();
    for (int64_t tokens = 1024; tokens <= 262144; tokens *= 2) {
      for (int64_t width = 512; width <= 32768; width *= 2) {
        const GroupedMatmulShape shape = {.tokens = tokens,
                                          .hidden = 2048,
                                          .intermediate = width,
                                          .experts_per_token = 8,
                                          .experts = 64};
        const double here = model.Predict(shape).expected.value();
        for (int64_t GroupedMatmulShape::*size :
             {&GroupedMatmulShape::tokens, &GroupedMatmulShape::hidden,
              &GroupedMatmulShape::intermediate}) {
          GroupedMatmulShape twice = shape;
          twice.*size *= 2;
          EXPECT_GT(model.Predict(twice).expected.value(), here)
              << device << " " << tokens << " " << width;
        }
        GroupedMatmulShape wider = shape;
        ++wider.intermediate;
        EXPECT_NEAR(model.Predict(wider).expected.value() / here, 1,
                    3.0 / static_cast<double>(width))
            << device << " " << tokens << " " << width;
      }
    }
  }
}

// Where points lie, between them, and beyond both ends. A byte more of S is at most a share of 4 /
// S more time: 1 / S of a constant rate, more where a library changes to a slower protocol.
TEST(PublishedCollectives, HaveNoSteps) {
  int compared = 0;
  for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
    const absl::string_view name = table.accelerator;
    const CollectiveModel& model = *ReferenceCollectives(name);
    for (const CollectiveOp op : kCollectiveOps) {
      for (int64_t ranks = 2; ranks <= 16; ++ranks) {
        for (double size = 64; size < 1e12; size *= std::sqrt(2.0)) {
          const auto bytes = static_cast<int64_t>(size + 0.5);
          const auto here = model.TimeOf({op, Bytes(bytes), ranks});
          const auto after = model.TimeOf({op, Bytes(bytes + 1), ranks});
          if (!here.has_value()) continue;
          ++compared;
          const double step = after->expected.value() / here->expected.value() - 1;
          ASSERT_GE(step, -1e-12) << name << " " << bytes;
          ASSERT_LE(step, 4.0 / static_cast<double>(bytes)) << name << " " << bytes;
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

// By two ceilings alone, on a product that nobody published kernels of.
TEST(PredictedByCeilings, GrowWithEveryDimension) {
  const Accelerator& product = **FindAccelerator("mi300x");
  const auto matmuls = MatmulPredictor::OfAccelerator(product, DataType::kBf16);
  const auto attentions = AttentionPredictor::OfAccelerator(product, DataType::kBf16);
  ASSERT_TRUE(matmuls.has_value() && attentions.has_value());
  std::mt19937 random(6);
  for (int i = 0; i < 1000; ++i) {
    const MatmulShape shape = {AnySizeBetween(random, 0, 20), AnySizeBetween(random, 0, 20),
                               AnySizeBetween(random, 0, 20)};
    for (int64_t MatmulShape::*side : {&MatmulShape::m, &MatmulShape::n, &MatmulShape::k}) {
      MatmulShape more = shape;
      more.*side += 1 + more.*side / 8;
      EXPECT_GE(matmuls->Predict(more).expected, matmuls->Predict(shape).expected);
    }
    const AttentionShape tokens = {.batch = AnySizeBetween(random, 0, 6),
                                   .sequence = AnySizeBetween(random, 0, 18),
                                   .heads = 8,
                                   .key_value_heads = 8,
                                   .query_key_head_size = 128,
                                   .value_head_size = 128,
                                   .causal = i % 2 == 0,
                                   .window = i % 3 == 0 ? 4096 : 0};
    for (int64_t AttentionShape::*side :
         {&AttentionShape::batch, &AttentionShape::sequence, &AttentionShape::heads,
          &AttentionShape::query_key_head_size}) {
      AttentionShape more = tokens;
      more.*side += 1 + more.*side / 8;
      EXPECT_GE(attentions->Predict(more).expected, attentions->Predict(tokens).expected);
      EXPECT_GE(attentions->PredictBackward(more).expected,
                attentions->PredictBackward(tokens).expected);
    }
  }
}

}  // namespace
}  // namespace sextant
