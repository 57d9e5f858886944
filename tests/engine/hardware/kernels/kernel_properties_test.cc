// Properties of every predicted time, tested on the reference calibrations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace {

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

void ExpectSound(const KernelTime& time) {
  EXPECT_TRUE(std::isfinite(time.high.value()));
  EXPECT_GT(time.low.value(), 0);
  EXPECT_LE(time.low, time.expected);
  EXPECT_LE(time.expected, time.high);
}

TEST(PredictedKernels, AreFiniteAndPositiveWhateverTheSizes) {
  const AttentionModel attention = AttentionOf("h100-sxm", 132);
  const GroupedMatmulModel experts = ExpertsOf("h100-sxm");
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const AttentionShape shape = AnyAttention(random, 40);
    ExpectSound(attention.Predict(shape));
    ExpectSound(attention.PredictBackward(shape));
    ExpectSound(experts.Predict(AnyExperts(random, 40)));
  }
  ExpectSound(attention.Predict(
      {.batch = 0, .sequence = -5, .key_sequence = INT64_MIN, .heads = INT64_MAX, .window = -1}));
  ExpectSound(attention.Predict({.sequence = INT64_MAX, .key_sequence = 1}));
  ExpectSound(experts.Predict({.tokens = INT64_MIN, .hidden = INT64_MAX, .experts = 0}));
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

}  // namespace
}  // namespace sextant
