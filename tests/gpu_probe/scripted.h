// A clock that only workloads advance, workloads that take scripted times, and a plan of them that
// is measured.
#ifndef SEXTANT_TESTS_GPU_PROBE_SCRIPTED_H_
#define SEXTANT_TESTS_GPU_PROBE_SCRIPTED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

class ScriptedClock : public Clock {
 public:
  double NowSeconds() override { return now_seconds_; }
  void Advance(double seconds) { now_seconds_ += seconds; }

 private:
  double now_seconds_ = 1000;
};

// The record of one point's workload, and its script.
struct Script {
  // Seconds that one run takes, at the n-th call of Run() (from 0, warm-up and trials included) and
  // at that time of the clock.
  std::function<double(int64_t call, double now_seconds)> run_seconds;
  double make_seconds = 0;
  double check_seconds = 0;
  absl::Status make_status = {};
  absl::Status run_status = {};
  // The device clock's share of a run's time; 0: the device has no clock.
  double device_share = 0;
  // The first check that fails, from 0; none where it is below 0.
  int64_t wrong_from_check = -1;

  int64_t call_count = 0;
  int64_t run_count = 0;
  int64_t check_count = 0;
  int64_t poison_count = 0;
  int64_t make_count = 0;
  bool alive = false;
  bool poisoned_unread = false;  // poisoned, and not run since
};

class ScriptedWorkload : public Workload {
 public:
  ScriptedWorkload(Script* script, ScriptedClock* clock) : script_(script), clock_(clock) {
    script_->alive = true;
  }
  ~ScriptedWorkload() override { script_->alive = false; }

  void Poison() override {
    ++script_->poison_count;
    script_->poisoned_unread = true;
  }

  absl::Status Run(int64_t repetition_count) override {
    const double seconds = script_->run_seconds(script_->call_count++, clock_->NowSeconds());
    script_->run_count += repetition_count;
    script_->poisoned_unread = false;
    clock_->Advance(seconds * static_cast<double>(repetition_count));
    device_seconds_ = script_->device_share * seconds * static_cast<double>(repetition_count);
    return script_->run_status;
  }

  absl::optional<double> DeviceSeconds() const override {
    if (script_->device_share == 0) return absl::nullopt;
    return device_seconds_;
  }

  absl::Status Check() override {
    clock_->Advance(script_->check_seconds);
    const int64_t check = script_->check_count++;
    if (script_->poisoned_unread) return absl::DataLossError("poison is left");
    if (script_->wrong_from_check >= 0 && check >= script_->wrong_from_check) {
      return absl::DataLossError("element 7 is 1, not 2");
    }
    return absl::OkStatus();
  }

 private:
  Script* script_;
  ScriptedClock* clock_;
  double device_seconds_ = 0;
};

// A point of `script`, which must outlive it. Its label is `label`, its phase `phase`, its work 1e9
// FLOPs, and its result becomes a matmul of the calibration whose kernel is the label.
inline Point ScriptedPoint(const std::string& phase, const std::string& label, Script* script,
                           ScriptedClock* clock) {
  Point point;
  point.phase = phase;
  point.label = label;
  point.work = 1e9;
  point.unit = "FLOP/s";
  point.make = [script, clock]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    ++script->make_count;
    clock->Advance(script->make_seconds);
    if (!script->make_status.ok()) return script->make_status;
    return std::unique_ptr<Workload>(std::make_unique<ScriptedWorkload>(script, clock));
  };
  point.record = [label](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::MatmulMeasurement* matmul = out->add_matmuls();
    matmul->set_kernel(label);
    *matmul->mutable_time() = time;
  };
  return point;
}

// A script of `seconds` for every run.
inline Script ConstantScript(double seconds) {
  return {.run_seconds = [seconds](int64_t, double) { return seconds; }};
}

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

#endif  // SEXTANT_TESTS_GPU_PROBE_SCRIPTED_H_
