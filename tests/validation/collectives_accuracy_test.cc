#include "tests/validation/collectives_accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::SizeIs;

constexpr int64_t kMiB = 1 << 20;

CsvRow Row(const std::string& version, int64_t bytes, double seconds) {
  return {{"gpu", "h100-sxm"},
          {"library", "nccl"},
          {"table_version", version},
          {"op", "alltoall"},
          {"dtype", "fp16"},
          {"gpus", "8"},
          {"message_bytes", std::to_string(bytes)},
          {"seconds", std::to_string(seconds)}};
}

std::string OwnVersion() { return std::string(ReferenceCollectivesVersion("h100-sxm")); }

CollectiveTables Tables(const std::vector<CsvRow>& rows) {
  const auto out = TablesOf(rows);
  EXPECT_THAT(out, IsOk());
  return *out;
}

TEST(TablesOf, LeavesOutWhatIsNotCompared) {
  CsvRow other_type = Row("1", kMiB, 1e-3);
  other_type["dtype"] = "int8";
  CsvRow other_library = Row("1", kMiB, 1e-3);
  other_library["library"] = "vllm_allreduce_graph";
  const CollectiveTables tables = Tables({Row("1", kMiB, 1e-3), other_type, other_library});
  EXPECT_EQ(tables.row_count, 1);
  EXPECT_EQ(tables.left_out_count, 2);
  ASSERT_THAT(tables.tables, SizeIs(1));
  EXPECT_EQ(tables.tables[0].op, CollectiveOp::kAllToAll);
}

TEST(TablesOf, NamesTheColumnOfWhatIsNoNumber) {
  for (const char* column : {"gpus", "message_bytes", "seconds"}) {
    CsvRow row = Row("1", kMiB, 1e-3);
    row[column] = "many";
    const auto tables = TablesOf({row});
    EXPECT_EQ(tables.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tables.status().message()), ::testing::HasSubstr(column));
  }
}

TEST(MedianOf, IsTheMiddle) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 2, 3}), 2.5);
}

// 64 MiB was left out of the reference tables, 32 MiB kept: only the first may be scored.
TEST(ScoreCollectives, NeverScoresKeptPoints) {
  const auto predicted =
      ReferenceCollectives("h100-sxm")->TimeOf({CollectiveOp::kAllToAll, Bytes(64 * kMiB), 8});
  const double seconds = std::round(predicted->expected.value() * 1e6) / 1e6;
  const auto scores = ScoreCollectives(
      Tables({Row(OwnVersion(), 64 * kMiB, seconds), Row(OwnVersion(), 32 * kMiB, 1)}));
  ASSERT_THAT(scores, SizeIs(2));  // of all ranks, and of 8
  for (const CollectiveScore& score : scores) {
    EXPECT_EQ(score.comparison, CollectiveComparison::kSizesNotKept);
    EXPECT_EQ(score.ours.count, 1);
    EXPECT_LT(score.ours.worst, 0.01);
    EXPECT_GT(score.link_rate.worst, 0.1);
  }
}

TEST(ScoreCollectives, ScoresEverySizeOfOtherVersions) {
  const auto scores =
      ScoreCollectives(Tables({Row("1", 32 * kMiB, 1), Row("1", 64 * kMiB, 1), Row("1", 512, 1)}));
  int compared = 0;
  for (const CollectiveScore& score : scores) {
    EXPECT_NE(score.comparison, CollectiveComparison::kSizesNotKept);
    EXPECT_NE(score.comparison, CollectiveComparison::kSmallNotKept);
    if (score.comparison != CollectiveComparison::kOtherVersions) continue;
    ++compared;
    EXPECT_EQ(score.ours.count, 2);
    EXPECT_LT(score.ours.median_signed, -0.99);
    EXPECT_EQ(score.in_interval, 0);
  }
  EXPECT_EQ(compared, 2);  // of all ranks, and of 8
}

// 2^21 and 2^23 are points, 2^22 between them is scored: 30 us is the line's, 40 is measured.
TEST(ScoreCollectives, ScoresHalfOfTheSizesByTheOthers) {
  const auto scores = ScoreCollectives(
      Tables({Row("1", 2 * kMiB, 20e-6), Row("1", 4 * kMiB, 40e-6), Row("1", 8 * kMiB, 50e-6)}));
  EXPECT_THAT(scores,
              Contains(Field(&CollectiveScore::comparison, CollectiveComparison::kHalfOfSizes)));
  for (const CollectiveScore& score : scores) {
    if (score.comparison != CollectiveComparison::kHalfOfSizes) continue;
    EXPECT_EQ(score.ours.count, 1);
    EXPECT_NEAR(score.ours.median_signed, 30.0 / 40 - 1, 1e-9);
  }
}

TEST(NoiseOf, IsOfRepeatsAndOfVersions) {
  const auto noise = NoiseOf(Tables(
      {Row("1", kMiB, 1e-3), Row("1", kMiB, 2e-3), Row("1", kMiB, 3e-3), Row("2", kMiB, 4e-3)}));
  ASSERT_THAT(noise, SizeIs(1));
  EXPECT_EQ(noise[0].repeats.count, 3);
  EXPECT_NEAR(noise[0].repeats.worst, 0.5, 1e-9);
  EXPECT_EQ(noise[0].versions.count, 1);
  EXPECT_NEAR(noise[0].versions.median, 1, 1e-9);
}

}  // namespace
}  // namespace sextant
