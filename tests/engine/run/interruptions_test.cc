#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/run/whole_run.h"

namespace sextant {
namespace {

constexpr double kHour = kSecondsPerHour;

Interruptions Failing(double hours, double interval, double write, double restart) {
  return {.between_failures = Seconds(hours * kHour),
          .interval = Seconds(interval),
          .write = Seconds(write),
          .stall = Seconds(write),
          .restart = Seconds(restart)};
}

// Simulates a run second by second of its events: work, stalls, failures, restarts.
class SimulatedRun {
 public:
  SimulatedRun(const Interruptions& in, uint64_t seed)
      : in_(in), random_(seed), failure_(1 / in.between_failures->value()) {}

  // The time that `work` seconds of work take, in all.
  double ElapsedOf(double work) {
    next_failure_ = failure_(random_);
    while (done_ < work) {
      const double step = std::min(in_.interval->value(), work - done_);
      if (!Pass(step)) continue;
      done_ += step;
      if (!Pass(in_.stall.value())) continue;
      pending_.push_back({now_ + (in_.write - in_.stall).value(), done_});
    }
    return now_;
  }

 private:
  struct Snapshot {
    double usable_at;
    double done;
  };

  // False where a failure came before `seconds` had passed: the run is then back at its last
  // usable checkpoint, restarted.
  bool Pass(double seconds) {
    if (now_ + seconds < next_failure_) {
      now_ += seconds;
      return true;
    }
    now_ = next_failure_;
    for (const Snapshot& each : pending_) {
      if (each.usable_at <= now_) saved_ = each.done;
    }
    pending_.clear();
    done_ = saved_;
    Restart();
    return false;
  }

  void Restart() {
    for (;;) {
      next_failure_ = now_ + failure_(random_);
      const double ready = now_ + in_.restart.value();
      if (ready < next_failure_) {
        now_ = ready;
        return;
      }
      now_ = next_failure_;
    }
  }

  const Interruptions in_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> failure_;
  double now_ = 0;
  double next_failure_ = 0;
  double done_ = 0;
  double saved_ = 0;
  std::vector<Snapshot> pending_;
};

// 40,000 failures: their time is known to half a percent.
double SimulatedPerSecond(const Interruptions& in) {
  const double work = 40'000 * in.between_failures->value();
  return SimulatedRun(in, 20'260'704).ElapsedOf(work) / work;
}

// 49 s of write and 8 h between failures: the textbook's 1680 s.
TEST(Interruptions, YoungsIntervalByHand) {
  EXPECT_NEAR(YoungInterval(Seconds(49), Seconds(8 * kHour)).value(), 1680, 1e-9);
}

// sqrt(2 x 49 x 28800) = 1680; C / 2M = 8.507e-4: 1680 x (1 + 0.0097222 + 0.0000945) - 49.
TEST(Interruptions, DalysIntervalByHand) {
  EXPECT_NEAR(DalyInterval(Seconds(49), Seconds(8 * kHour)).value(), 1647.4926, 1e-3);
  EXPECT_EQ(DalyInterval(Seconds(200), Seconds(100)), Seconds(100));
  EXPECT_EQ(DalyInterval(Seconds(300), Seconds(100)), Seconds(100));
}

// Daly's is within 1 % of the interval with the least elapsed time, from 100 writes between two
// failures down to 5, and costs the run less than 1 in 10,000; Young's is worse.
TEST(Interruptions, DalysIntervalIsNearTheBest) {
  for (const double write : {36.0, 72.0, 180.0, 360.0, 720.0}) {
    const auto cost = [write](double interval) {
      return ElapsedPerSecond(Failing(1, interval, write, 60)).all();
    };
    double low = 1;
    double high = 36'000;
    for (int i = 0; i < 200; ++i) {
      const double a = low + (high - low) * 0.4;
      const double b = low + (high - low) * 0.6;
      (cost(a) < cost(b) ? high : low) = cost(a) < cost(b) ? b : a;
    }
    const double daly = DalyInterval(Seconds(write), Seconds(kHour)).value();
    const double young = YoungInterval(Seconds(write), Seconds(kHour)).value();
    EXPECT_NEAR(daly / low, 1, 0.01) << write;
    EXPECT_LT(cost(daly) / cost(low), 1.0001) << write;
    EXPECT_LE(cost(daly), cost(young)) << write;
  }
}

// Within 2 % of the time that is lost, not only of the whole.
TEST(Interruptions, TimesAreThoseOfASimulation) {
  struct Case {
    const char* name;
    Interruptions in;
  };
  std::vector<Case> cases = {
      {"frequent checkpoints", Failing(8, 1680, 49, 300)},
      {"Daly's interval", Failing(3, 900, 40, 600)},
      {"rare checkpoints", Failing(1, 7200, 60, 60)},
      {"restarts fail too", Failing(0.5, 300, 20, 1200)},
      {"instant restart", Failing(2, 1200, 100, 0)},
  };
  cases.push_back({"written in the background", Failing(8, 1800, 600, 300)});
  cases.back().in.stall = Seconds(10);
  for (const Case& each : cases) {
    const ElapsedShares expect = ElapsedPerSecond(each.in);
    const double simulated = SimulatedPerSecond(each.in);
    EXPECT_NEAR((expect.all() - 1) / (simulated - 1), 1, 0.02) << each.name;
    EXPECT_NEAR(expect.all() / simulated, 1, 0.02) << each.name;
  }
}

// To first order C / t + (1 + C / t) ((t + C) / 2 + r) / M: 49 / 1680 + 1.02917 x 1164.5 / 28800.
TEST(Interruptions, AreTheTextbooksToFirstOrder) {
  const ElapsedShares shares = ElapsedPerSecond(Failing(8, 1680, 49, 300));
  EXPECT_NEAR(shares.checkpoints, 49.0 / 1680, 1e-12);
  EXPECT_NEAR(shares.failures, 0.041613, 0.03 * shares.failures);
}

TEST(Interruptions, WithoutFailuresOnlyStallsAndCheckpointsAdd) {
  EXPECT_EQ(ElapsedPerSecond({}).all(), 1);
  const Interruptions stalls = {.stall_ratio = 0.25};
  EXPECT_EQ(ElapsedPerSecond(stalls).all(), 1.25);
  // A stall of 10 s for 100 s of work, and a quarter as much again for what is not a step.
  const Interruptions both = {.interval = Seconds(100),
                              .write = Seconds(40),
                              .stall = Seconds(10),
                              .restart = Seconds(0),
                              .stall_ratio = 0.25};
  EXPECT_EQ(ElapsedPerSecond(both).checkpoints, 0.125);
  EXPECT_EQ(ElapsedPerSecond(both).failures, 0);
  EXPECT_EQ(DeviationOfFailures(both, Seconds(1e6)), Seconds(0));
}

TEST(Interruptions, FailuresThatVanishCostNothing) {
  double before = 1;
  for (const double hours : {1.0, 1e2, 1e4, 1e6, 1e9, 1e29}) {
    const double failures = ElapsedPerSecond(Failing(hours, 1000, 10, 100)).failures;
    EXPECT_LT(failures, before);
    EXPECT_GE(failures, 0);
    before = failures;
  }
  EXPECT_LT(before, 1e-9);
  EXPECT_EQ(ElapsedPerSecond(Failing(7e15, 1000, 10, 100)).failures, 0);  // -2e-16 by rounding
}

TEST(Interruptions, MoreThanARunCanTakeIsInfinite) {
  EXPECT_TRUE(std::isinf(ElapsedPerSecond(Failing(1.0 / 3600, 1, 0.5, 1e6)).all()));
}

// Runs of 100 failures: the spread of their times over 400 seeds is within 10 %.
TEST(Interruptions, TheSpreadOfFailuresIsThatOfSimulations) {
  const Interruptions in = Failing(4, 1500, 40, 400);
  const double work = 100 * in.between_failures->value();
  std::vector<double> times;
  double sum = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    times.push_back(SimulatedRun(in, seed).ElapsedOf(work));
    sum += times.back();
  }
  const double mean = sum / 400;
  double squares = 0;
  for (const double time : times) squares += (time - mean) * (time - mean);
  EXPECT_NEAR(DeviationOfFailures(in, Seconds(mean)).value() / std::sqrt(squares / 399), 1, 0.1);
}

}  // namespace
}  // namespace sextant
