#include "proto/text/progress_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "proto/text/format.h"

namespace sextant::text {
namespace {

v1::ProbeProgress Progress() {
  v1::ProbeProgress progress;
  progress.set_phase("matmul bf16");
  progress.set_fraction(0.5);
  progress.set_figure("bf16 1024x1024x1024: 429.5 GFLOP/s");
  return progress;
}

TEST(ProgressLine, IsABarAndWords) {
  EXPECT_EQ(ProgressLine(Progress(), 100),
            "[############............]  50 %  matmul bf16  bf16 1024x1024x1024: 429.5 GFLOP/s");
  v1::ProbeProgress progress = Progress();
  progress.clear_figure();
  progress.set_fraction(1);
  EXPECT_EQ(ProgressLine(progress, 100), "[########################] 100 %  matmul bf16");
}

// Cut before the last column, where terminals wrap; the narrow have words alone.
TEST(ProgressLine, FitsTheTerminal) {
  EXPECT_EQ(ProgressLine(Progress(), 40), " 50 %  matmul bf16  bf16 1024x1024x1024");
  v1::ProbeProgress accents = Progress();
  accents.set_phase("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9");
  for (int columns = 0; columns < 120; ++columns) {
    EXPECT_LE(DisplayWidth(ProgressLine(Progress(), columns)), std::max(columns - 1, 0));
    EXPECT_LE(DisplayWidth(ProgressLine(accents, columns)), std::max(columns - 1, 0));
  }
}

TEST(ProgressLine, SurvivesEveryFraction) {
  for (const double fraction :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    v1::ProbeProgress progress = Progress();
    progress.set_fraction(fraction);
    EXPECT_EQ(ProgressLine(progress, 20), "  0 %  matmul bf16 ") << fraction;
  }
  for (const double fraction : {2.0, std::numeric_limits<double>::infinity()}) {
    v1::ProbeProgress progress = Progress();
    progress.set_fraction(fraction);
    EXPECT_EQ(ProgressLine(progress, 20), "100 %  matmul bf16 ") << fraction;
  }
}

TEST(ProgressLine, StaysOnItsLine) {
  v1::ProbeProgress progress = Progress();
  progress.set_phase("a\nb\rc\x1b[2J");
  progress.clear_figure();
  EXPECT_EQ(ProgressLine(progress, 50), " 50 %  a b c?[2J");
}

}  // namespace
}  // namespace sextant::text
