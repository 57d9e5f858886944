// A plan of scripted points, measured by a scripted clock.
#ifndef SEXTANT_TESTS_GPU_PROBE_MEASURE_FIXTURE_H_
#define SEXTANT_TESTS_GPU_PROBE_MEASURE_FIXTURE_H_

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "gpu_probe/measure.h"
#include "tests/gpu_probe/scripted.h"

namespace sextant::probe {

class MeasureTest : public ::testing::Test {
 protected:
  // Adds a point, and returns its script for changes.
  Script& Add(const std::string& phase, const std::string& label, double run_seconds) {
    scripts_.push_back(ConstantScript(run_seconds));
    plan_.points.push_back(ScriptedPoint(phase, label, &scripts_.back(), &clock_));
    return scripts_.back();
  }
  Point& last() { return plan_.points.back(); }

  absl::StatusOr<Measurement> Run(double budget_seconds) {
    start_seconds_ = clock_.NowSeconds();
    return Measure(plan_,
                   {.start_seconds = start_seconds_,
                    .budget_seconds = budget_seconds,
                    .all_essential = all_essential_,
                    .shuffle_seed = 1},
                   clock_, [this](const v1::ProbeProgress& progress) {
                     progress_.push_back(progress);
                     return keep_on_;
                   });
  }
  double elapsed_seconds() { return clock_.NowSeconds() - start_seconds_; }

  // The times by label.
  static std::map<std::string, v1::TimeStatistics> TimesOf(const Measurement& measurement) {
    std::map<std::string, v1::TimeStatistics> times;
    for (const v1::MatmulMeasurement& matmul : measurement.calibration.matmuls()) {
      times[matmul.kernel()] = matmul.time();
    }
    return times;
  }

  ScriptedClock clock_;
  std::deque<Script> scripts_;  // a deque: points hold addresses
  ProbePlan plan_;
  bool all_essential_ = false;
  bool keep_on_ = true;
  double start_seconds_ = 0;
  std::vector<v1::ProbeProgress> progress_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_MEASURE_FIXTURE_H_
