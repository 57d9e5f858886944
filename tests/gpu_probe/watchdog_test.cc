#include "gpu_probe/watchdog.h"

#include <gtest/gtest.h>

#include <latch>

namespace sextant {
namespace {

constexpr double kNeverSeconds = 1e6;

TEST(WatchdogTest, Expires) {
  std::latch expired(1);
  const Watchdog watchdog({.seconds = 0, .on_expiry = [&] { expired.count_down(); }});
  expired.wait();
}

TEST(WatchdogTest, IsCalledOff) {
  bool expired = false;
  {
    const Watchdog watchdog({.seconds = kNeverSeconds, .on_expiry = [&] { expired = true; }});
  }
  EXPECT_FALSE(expired);
}

TEST(WatchdogTest, TicksUntilItIsCalledOff) {
  std::latch ticked(3);
  int count = 0;
  const Watchdog watchdog({.seconds = kNeverSeconds,
                           .on_expiry = [] { FAIL() << "expired"; },
                           .tick_seconds = 1e-4,
                           .on_tick =
                               [&] {
                                 if (++count <= 3) ticked.count_down();
                               }});
  ticked.wait();
}

// A hanging main thread is what it is for: it acts though nobody calls it.
TEST(WatchdogTest, EndsAProcessWhoseMainThreadHangs) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog({.seconds = 0, .on_expiry = [] { _exit(6); }});
        std::latch never(1);
        never.wait();
      },
      ::testing::ExitedWithCode(6), "");
}

}  // namespace
}  // namespace sextant
