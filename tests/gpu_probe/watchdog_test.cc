#include "gpu_probe/watchdog.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_probe/backend.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/run_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

constexpr double kNeverSeconds = 1e6;

// Threads that start after this one ask for more memory than any system has.
void LetNoThreadStart() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 60);
  pthread_setattr_default_np(&attributes);
}

// The program with a device that can be listed, and a plan that is never made.
int RunWithPlan(absl::StatusOr<ProbePlan> (*plan)(const ProbeOptions&, const PhaseSink&)) {
  setenv("SEXTANT_LOCK_FOLDER", "/nowhere", /*replace=*/1);  // no lock: there may be many at once
  const auto devices = [] { return std::vector<v1::Device>(1); };
  const std::vector<Backend> backends = {{.name = "host", .devices = devices, .plan = plan}};
  dup2(STDERR_FILENO, STDOUT_FILENO);  // which is what a death test reads
  return RunProbe({"--format=json"}, backends);
}

TEST(WatchdogTest, Expires) {
  std::latch expired(1);
  const auto watchdog = Watchdog::Start({.seconds = 0, .on_expiry = [&] { expired.count_down(); }});
  ASSERT_THAT(watchdog, IsOk());
  expired.wait();
}

TEST(WatchdogTest, IsCalledOff) {
  bool expired = false;
  {
    const auto watchdog =
        Watchdog::Start({.seconds = kNeverSeconds, .on_expiry = [&] { expired = true; }});
    ASSERT_THAT(watchdog, IsOk());
  }
  EXPECT_FALSE(expired);
}

TEST(WatchdogTest, TicksUntilItIsCalledOff) {
  std::latch ticked(3);
  int count = 0;
  const auto watchdog = Watchdog::Start({.seconds = kNeverSeconds,
                                         .on_expiry = [] { FAIL() << "expired"; },
                                         .tick_seconds = 1e-4,
                                         .on_tick =
                                             [&] {
                                               if (++count <= 3) ticked.count_down();
                                             }});
  ASSERT_THAT(watchdog, IsOk());
  ticked.wait();
}

// A hanging main thread is what it is for: it acts though nobody calls it.
TEST(WatchdogTest, EndsAProcessWhoseMainThreadHangs) {
  EXPECT_EXIT(
      {
        const auto watchdog = Watchdog::Start({.seconds = 0, .on_expiry = [] { _exit(6); }});
        std::latch never(1);
        never.wait();
      },
      ::testing::ExitedWithCode(6), "");
}

TEST(WatchdogTest, SaysThatNoThreadStarts) {
  EXPECT_EXIT(
      {
        LetNoThreadStart();
        const auto watchdog = Watchdog::Start({.seconds = kNeverSeconds, .on_expiry = [] {}});
        _exit(absl::IsInternal(watchdog.status()) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// An exception ends the program with one failure, not with a signal.
TEST(RunProbeTest, AnExceptionIsAFailure) {
  EXPECT_EXIT(
      _exit(RunWithPlan([](const ProbeOptions&, const PhaseSink&) -> absl::StatusOr<ProbePlan> {
        throw std::bad_alloc();
      })),
      ::testing::ExitedWithCode(kExitRefused), "\"KIND_REFUSED\".*\"reason\":\"memory\"");
  EXPECT_EXIT(
      _exit(RunWithPlan([](const ProbeOptions&, const PhaseSink&) -> absl::StatusOr<ProbePlan> {
        throw std::length_error("too long");
      })),
      ::testing::ExitedWithCode(kExitInternal), "\"KIND_INTERNAL\".*too long");
  EXPECT_EXIT(
      {
        LetNoThreadStart();
        _exit(RunWithPlan([](const ProbeOptions&, const PhaseSink&) -> absl::StatusOr<ProbePlan> {
          return absl::AbortedError("it was asked to measure");
        }));
      },
      ::testing::ExitedWithCode(kExitInternal), "\"KIND_INTERNAL\".*threads can't be started");
}

}  // namespace
}  // namespace sextant::probe
