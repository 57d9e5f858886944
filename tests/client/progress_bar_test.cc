#include "client/io/progress_bar.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/client/sample_calibration.h"

namespace sextant::client {
namespace {

v1::ProbeProgress Progress() { return SampleProgress().progress(); }

TEST(ProgressBar, IsErasedAtTheEnd) {
  std::ostringstream out;
  {
    ProgressBar bar(out, 40);
    bar.Show(Progress());
    EXPECT_EQ(out.str(), "\r\x1b[K 50 %  matmul bf16  bf16 1024x1024x1024");
    out.str("");
  }
  EXPECT_EQ(out.str(), "\r\x1b[K");
}

TEST(ProgressBar, WritesNothingWhereThereIsNoTerminal) {
  std::ostringstream out;
  {
    ProgressBar bar(out, 0);
    bar.Show(Progress());
    bar.Erase();
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace sextant::client
