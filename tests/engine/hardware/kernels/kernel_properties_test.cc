// Properties of every predicted time, tested on the reference calibrations: finite, longer for more
// work of one efficiency class, and without steps where points end.
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
#include "tests/engine/hardware/kernels/made_kernels.h"

namespace sextant {
namespace {

constexpr const char* kMeasuredProducts[] = {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm"};

AttentionModel AttentionOf(absl::string_view device, int64_t units, bool latent = false) {
  const AttentionReference* reference = FindAttentionReference(device, DataType::kBf16, latent);
  return AttentionModel::Of({.compute_units = units, .points = PointsOf(*reference)}).value();
}

GroupedMatmulModel ExpertsOf(absl::string_view device) {
  const GroupedMatmulReference* reference =
      FindGroupedMatmulReference({.device = device, .data_type = DataType::kBf16});
  return GroupedMatmulModel::Of({.points = PointsOf(*reference)}).value();
}

// 1 to 2^most, small ones as likely as large ones.
int64_t AnySize(std::mt19937& random, int most) {
  const int bits = std::uniform_int_distribution<int>(0, most)(random);
  const int64_t high = int64_t{1} << bits;
  return std::uniform_int_distribution<int64_t>((high + 1) / 2, high)(random);
}

AttentionShape AnyAttention(std::mt19937& random, int most) {
  const int64_t sequence = AnySize(random, most);
  return {.batch = AnySize(random, most),
          .sequence = sequence,
          .key_sequence = random() % 2 == 0 ? 0 : sequence + AnySize(random, most) - 1,
          .heads = AnySize(random, most),
          .key_value_heads = AnySize(random, most),
          .query_key_head_size = AnySize(random, most),
          .value_head_size = AnySize(random, most),
          .causal = random() % 2 == 0,
          .window = random() % 2 == 0 ? 0 : AnySize(random, most)};
}

GroupedMatmulShape AnyExperts(std::mt19937& random, int most) {
  return {.tokens = AnySize(random, most),
          .hidden = AnySize(random, most),
          .intermediate = AnySize(random, most),
          .experts_per_token = AnySize(random, most),
          .experts = AnySize(random, most),
          .expert_parallel = AnySize(random, most),
          .gated = random() % 2 == 0};
}

TEST(PredictedKernels, AreFiniteAndPositiveWhateverTheSizes) {
  const AttentionModel attention = AttentionOf("h100-sxm", 132);
  const GroupedMatmulModel experts = ExpertsOf("h100-sxm");
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const AttentionShape shape = AnyAttention(random, 40);
    EXPECT_TRUE(IsSound(attention.Predict(shape)));
    EXPECT_TRUE(IsSound(attention.PredictBackward(shape)));
    EXPECT_TRUE(IsSound(experts.Predict(AnyExperts(random, 40))));
  }
  EXPECT_TRUE(IsSound(attention.Predict(
      {.batch = 0, .sequence = -5, .key_sequence = INT64_MIN, .heads = INT64_MAX, .window = -1})));
  EXPECT_TRUE(IsSound(attention.Predict({.sequence = INT64_MAX, .key_sequence = 1})));
  EXPECT_TRUE(IsSound(experts.Predict({.tokens = INT64_MIN, .hidden = INT64_MAX, .experts = 0})));
}

// More work is no less time while the efficiency class stays: costs are not negative, and no term
// falls as a size grows.
TEST(PredictedKernels, HaveTermsThatNeverFallWithWork) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const AttentionShape less = AnyAttention(random, 16);
    const AttentionForm form = {.query_tile = 64 << (i % 3),
                                .window = i % 2 == 0 ? WindowForm::kSliding : WindowForm::kChunked};
    const TermArray before = AttentionTerms(less, form, 132).terms;
    for (int64_t AttentionShape::*size :
         {&AttentionShape::batch, &AttentionShape::sequence, &AttentionShape::key_sequence,
          &AttentionShape::heads, &AttentionShape::key_value_heads,
          &AttentionShape::query_key_head_size, &AttentionShape::value_head_size}) {
      if (size == &AttentionShape::key_sequence && less.key_sequence == 0) continue;
      // More keys than queries move the queries to other places in their chunks.
      if (form.window == WindowForm::kChunked && less.key_sequence != 0) continue;
      AttentionShape more = less;
      more.*size += AnySize(random, 12);
      if (more.key_sequence != 0) {  // where causal, queries are the last of the positions
        more.key_sequence = std::max(more.key_sequence, more.sequence);
      }
      const TermArray after = AttentionTerms(more, form, 132).terms;
      for (int term = 0; term < kMaxTerms; ++term) {
        EXPECT_GE(after[term], before[term] * (1 - 1e-12)) << "term " << term;
      }
    }
    const GroupedMatmulShape fewer = AnyExperts(random, 16);
    const TermArray few = GroupedMatmulTerms(fewer, {.row_tile = 64}).terms;
    for (int64_t GroupedMatmulShape::*size :
         {&GroupedMatmulShape::tokens, &GroupedMatmulShape::hidden,
          &GroupedMatmulShape::intermediate, &GroupedMatmulShape::experts_per_token}) {
      GroupedMatmulShape more = fewer;
      more.*size += AnySize(random, 12);
      const TermArray after = GroupedMatmulTerms(more, {.row_tile = 64}).terms;
      for (int term = 0; term < kMaxTerms; ++term) {
        EXPECT_GE(after[term], few[term] * (1 - 1e-12)) << "term " << term;
      }
    }
  }
}

// Twice the batch, or the sequence, of what training asks for takes longer, whatever the class.
TEST(PredictedKernels, TakeLongerForTwiceTheWork) {
  for (const auto& [device, units] : {std::pair("a100-sxm-80", 108), std::pair("h100-sxm", 132),
                                      std::pair("h200-sxm", 132), std::pair("b200-sxm", 148)}) {
    for (const bool latent : {false, true}) {
      const AttentionModel model = AttentionOf(device, units, latent);
      for (int64_t sequence = 1024; sequence <= 65536; sequence *= 2) {
        for (int64_t batch = 1; batch <= 64; batch *= 2) {
          AttentionShape shape = {.batch = batch,
                                  .sequence = sequence,
                                  .heads = 32,
                                  .key_value_heads = latent ? 32 : 8,
                                  .query_key_head_size = latent ? 192 : 128,
                                  .value_head_size = 128};
          const Seconds once = model.Predict(shape).expected;
          shape.batch *= 2;
          EXPECT_GT(model.Predict(shape).expected, once) << device << " " << sequence;
          shape.batch /= 2;
          shape.key_sequence = 2 * sequence;
          const Seconds more_keys = model.Predict(shape).expected;
          EXPECT_GT(more_keys, once) << device << " " << sequence;
          shape.sequence *= 2;
          shape.key_sequence = 0;
          EXPECT_GT(model.Predict(shape).expected, more_keys) << device << " " << sequence;
        }
      }
    }
  }
}

// No step where the points end, at a point, or between head sizes: one token more is at most one
// wave of tiles more.
TEST(PredictedKernels, HaveNoStepsButWaves) {
  const AttentionModel model = AttentionOf("h100-sxm", 132);
  for (int64_t sequence = 1000; sequence < 40000; sequence += 1 + sequence / 500) {
    AttentionShape shape = {.batch = 8,
                            .sequence = sequence,
                            .heads = 32,
                            .key_value_heads = 8,
                            .query_key_head_size = 128,
                            .value_head_size = 128};
    const double here = model.Predict(shape).expected.value();
    ++shape.sequence;
    // 256 heads of 8 or more tiles on 132 units are 16 waves or more.
    EXPECT_NEAR(model.Predict(shape).expected.value() / here, 1, 1.0 / 16 + 0.01) << sequence;
    for (const int64_t size : {64, 128, 192, 256}) {
      shape.query_key_head_size = shape.value_head_size = size;
      const double at = model.Predict(shape).expected.value();
      for (const int64_t beside : {-1, 1}) {
        shape.query_key_head_size = size + beside;
        EXPECT_NEAR(model.Predict(shape).expected.value() / at, 1, 0.03) << size + beside;
      }
      shape.query_key_head_size = size;
    }
  }
}

TEST(PredictedKernels, OfExpertsHaveNoStepsButTiles) {
  const GroupedMatmulModel model = ExpertsOf("h100-sxm");
  for (int64_t tokens = 64; tokens < 300000; tokens += 1 + tokens / 100) {
    GroupedMatmulShape shape = {.tokens = tokens,
                                .hidden = 4096,
                                .intermediate = 1536,
                                .experts_per_token = 8,
                                .experts = 128,
                                .expert_parallel = 8};
    const double here = model.Predict(shape).expected.value();
    ++shape.tokens;
    const double rows = RowsPerExpert(shape);
    // An expert's rows fill one tile of 128 more at most.
    EXPECT_NEAR(model.Predict(shape).expected.value() / here, 1, 128 / std::max(rows, 128.0) + 0.05)
        << tokens;
  }
}

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
    const GroupedMatmulModel model = ExpertsOf(device);
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
