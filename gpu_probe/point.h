// The clock of measurements, one figure of a calibration, the kernel and data that it is timed on,
// and a plan of many.
#ifndef SEXTANT_GPU_PROBE_POINT_H_
#define SEXTANT_GPU_PROBE_POINT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Never goes back. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Seconds since some fixed instant.
  virtual double NowSeconds() = 0;
};

class SteadyClock : public Clock {
 public:
  double NowSeconds() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
};

// One kernel with its own data: the work that a figure of the calibration is timed on.
class Workload {
 public:
  virtual ~Workload() = default;

  // Fills the outputs with a value that no run produces, so that Check() finds every element that a
  // run did not write. Not timed.
  virtual void Poison() = 0;

  // Runs the kernel `repetition_count` times in a row. All work is done on return.
  //
  // Errors: the device's; nothing on the device can be trusted after one.
  virtual absl::Status Run(int64_t repetition_count) = 0;

  // Seconds of the last Run() by the device's own clock, which excludes the host's time to start
  // work and to notice its end. Absent where the device has no clock, as a processor: the caller's
  // clock is used.
  virtual absl::optional<double> DeviceSeconds() const { return absl::nullopt; }

  // Compares the outputs of the last run with an independent answer. Not timed.
  //
  // Errors: kDataLoss, saying what differed: the device or the kernel can't be trusted; the
  // device's.
  virtual absl::Status Check() = 0;
};

using MakeWorkload = std::function<absl::StatusOr<std::unique_ptr<Workload>>()>;

// Data that several points' workloads share, e.g. arrays: made by the first that needs it, freed
// with the last that uses it.
template <typename Data>
class SharedData {
 public:
  using Make = std::function<absl::StatusOr<std::shared_ptr<Data>>()>;
  explicit SharedData(Make make) : make_(std::move(make)) {}
  SharedData(const SharedData&) = delete;
  SharedData& operator=(const SharedData&) = delete;

  absl::StatusOr<std::shared_ptr<Data>> Get() {
    if (std::shared_ptr<Data> there = data_.lock()) return there;
    absl::StatusOr<std::shared_ptr<Data>> made = make_();
    if (made.ok()) data_ = *made;
    return made;
  }

 private:
  const Make make_;
  std::weak_ptr<Data> data_;
};

// Passes of a point that is measured at several times: the third against the first shows drift.
inline constexpr int kRevisitPassCount = 3;
// Passes of a point that is measured first and, seconds later, last.
inline constexpr int kWindowPassCount = 2;

// A sample is as many runs in a row as last this long, so that the clock's 30 ns, a thread's start
// and the system's timer tick are negligible.
inline constexpr double kMinSampleSeconds = 1e-3;

// Stages of a sustained sample; its second half counts.
enum class SustainedEvent { kBegins, kCounts, kEnds };

// One figure of the calibration.
struct Point {
  std::string phase;  // "matmul bf16": points of one phase are measured together
  std::string label;  // "bf16 1024x1024x1024"
  double work = 0;    // FLOPs or bytes of one run, for the figure that progress shows
  std::string unit;   // "FLOP/s" or "B/s"

  // Measured first, so that a run cut short still has one figure of each kind. Of several passes
  // only the first is measured then, the others with its phase.
  bool first = false;
  // All points of a lower level come before those of a higher one.
  int level = 0;
  // The least number of points of its phase and level that are useful: where there is no time for
  // that many, none is begun. Time for them is kept while lower levels are measured.
  int fewest_useful = 1;
  // True where fewer than those are useless and are not recorded.
  bool useless_alone = false;
  // Assumed seconds to prepare it, until a point of its phase was prepared. Err on the high side
  // where not known: only work that is not begun keeps a deadline.
  double assumed_preparation_seconds = 0;
  // The number of shuffled passes of its samples; above 1 the phase shows drift.
  int pass_count = 1;
  // True where the spread is at least the difference between its passes, which are windows apart
  // from each other: other programs change what a host gives from one second to the next.
  bool spread_of_passes = false;
  // Where above 0: take one sample that runs for this long without a pause, and count only its
  // second half (a sustained rate).
  double sustained_seconds = 0;

  // The least time of a sample: shorter where the device has a clock of its own.
  double minimum_sample_seconds = kMinSampleSeconds;

  // Allocates and fills; called once, just before the first sample. On kResourceExhausted or
  // kUnimplemented the point is left out, and the message becomes a note.
  MakeWorkload make;
  // Writes the point into the calibration.
  std::function<void(const v1::TimeStatistics& time, v1::Calibration* out)> record;
  // Called at each event of a sustained sample, when no work is queued. May be empty.
  std::function<absl::Status(SustainedEvent event)> on_sustained = {};
};

inline void Append(std::vector<Point> more, std::vector<Point>* points) {
  std::move(more.begin(), more.end(), std::back_inserter(*points));
}

// The measurements of one device.
struct ProbePlan {
  v1::Device device;
  std::vector<Point> points;
  // Computes figures from others (ridge, ratios) when all are measured. Figures may be missing: a
  // deadline cuts points off.
  std::function<void(v1::Calibration* out)> finish;
  std::vector<std::string> notes;

  // Seconds from the last sample to the end of the process, e.g. to close a driver.
  double ending_seconds = 0;

  // Asks if the device may still be used: called before visits, at least kGuardSeconds apart, and
  // once at the end. An error ends the measurement. Empty: it always may.
  std::function<absl::Status()> may_go_on = {};
};

// Seconds between two calls of may_go_on(), which may take driver time that the device needs.
inline constexpr double kGuardSeconds = 0.5;

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_POINT_H_
