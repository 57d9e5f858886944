// Times one point: makes its workload, warms it up, takes samples, checks results.
#ifndef SEXTANT_GPU_PROBE_SAMPLER_H_
#define SEXTANT_GPU_PROBE_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

class PointSampler {
 public:
  // `point` and `clock` must outlive the sampler.
  PointSampler(const Point& point, Clock& clock) : point_(&point), clock_(&clock) {}

  // Makes the workload, runs it once, checks that result, and chooses the number of runs of a
  // sample. Call it first.
  //
  // Errors: make()'s; the workload's; kDataLoss where the result is wrong; kInternal where the
  // clock stands still.
  absl::Status Prepare();

  // Fills the outputs with values that no run produces, so that Check() verifies the runs from
  // here: the samples and, before short ones, the settling run.
  void Poison() { workload_->Poison(); }

  // Runs as much as a sample, untimed, so that earlier work (a check, another kernel's threads) has
  // left the cores and caches when the next sample starts. Long samples don't need it.
  //
  // Errors: kInternal where the clock stands still.
  absl::Status Settle();

  // Takes one sample in `pass`, which never decreases from call to call.
  //
  // Errors: kInternal where the clock stands still.
  absl::Status TakeSample(int pass);

  // Runs for the point's sustained_seconds without a pause. The second half, cut into slices, gives
  // the samples. Calls `between` after each slice.
  //
  // Errors: kInternal where the clock stands still.
  absl::Status TakeSustained(const std::function<void()>& between);

  // Compares the last run's results with an independent answer.
  //
  // Errors: kDataLoss, naming the point.
  absl::Status Check();

  // Frees the workload. The samples stay.
  void Release() { workload_.reset(); }

  bool prepared() const { return workload_ != nullptr; }
  // Predicted seconds of the next sample: those of the last one.
  double sample_seconds() const { return sample_seconds_; }
  double check_seconds() const { return check_seconds_; }
  // Predicted seconds of Settle().
  double settle_seconds() const;
  int64_t checked_count() const { return checked_count_; }
  int64_t repetition_count() const { return repetition_count_; }

  // Seconds of one run, in the order in which the samples were taken.
  absl::Span<const double> samples() const { return samples_; }
  absl::Span<const double> samples_of(int pass) const;

 private:
  // Returns the seconds of `repetition_count` runs, by the device's clock where it has one.
  //
  // Errors: the workload's, naming the point; kInternal where the clock stands still.
  absl::StatusOr<double> TimeRuns(int64_t repetition_count);
  // Converts a failed check into an error that names the point.
  absl::Status Wrong(const absl::Status& checked) const;
  // `status`, with the point's name before its message.
  absl::Status Named(const absl::Status& status) const;
  // Sets repetition_count_ and sample_seconds_. `cold_seconds` is the time of the first, cold run.
  absl::Status ChooseRepetitions(double cold_seconds);

  const Point* point_;
  Clock* clock_;
  std::unique_ptr<Workload> workload_;
  int64_t repetition_count_ = 1;
  double sample_seconds_ = 0;
  double check_seconds_ = 0;
  int64_t checked_count_ = 0;
  std::vector<double> samples_;
  std::vector<int> passes_;  // of each sample
};

// The progress of one point of a plan.
struct PointState {
  PointSampler sampler;
  // Why its workload could not be made; OK otherwise.
  absl::Status left_out = {};

  bool measured() const { return !sampler.samples().empty(); }
  // True where it may still be measured.
  bool open() const { return left_out.ok() && !measured(); }
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_SAMPLER_H_
