// Times one point: makes its workload, warms it up, takes samples, checks results.
#ifndef SEXTANT_GPU_PROBE_SAMPLER_H_
#define SEXTANT_GPU_PROBE_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/point.h"
#include "gpu_probe/workload.h"

namespace sextant {

class PointSampler {
 public:
  // `point` and `clock` must outlive the sampler.
  PointSampler(const Point& point, Clock& clock) : point_(&point), clock_(&clock) {}

  // Makes the workload, runs it once, checks that result, and finds out how many runs make a
  // sample. Must come first.
  //
  // Errors: make()'s; the workload's; kDataLoss where the result is wrong; kInternal where the
  // clock stands.
  absl::Status Prepare();

  // Fills the outputs with what no run leaves, so that Check() proves what runs from here: the
  // samples and, before short ones, the run that settles.
  void Poison() { workload_->Poison(); }

  // Runs as much as a sample, untimed: what ran before (a check, another kernel's threads) has
  // left the cores and caches when the next sample starts. Long samples don't need it.
  //
  // Errors: kInternal where the clock stands.
  absl::Status Settle();

  // Takes one sample in `pass`, which never falls from one call to the next.
  //
  // Errors: kInternal where the clock stands.
  absl::Status TakeSample(int pass);

  // Runs for the point's sustained_seconds without a pause. The second half, cut into slices,
  // becomes the samples. `between` is called after each slice.
  //
  // Errors: kInternal where the clock stands.
  absl::Status TakeSustained(const std::function<void()>& between);

  // Compares the last run's results with an independent answer.
  //
  // Errors: kDataLoss, naming the point.
  absl::Status Check();

  // Frees the workload. The samples stay.
  void Release() { workload_.reset(); }

  bool prepared() const { return workload_ != nullptr; }
  // What the next sample will take: what the last one did.
  double sample_seconds() const { return sample_seconds_; }
  double check_seconds() const { return check_seconds_; }
  // What Settle() will take.
  double settle_seconds() const;
  int64_t checked_count() const { return checked_count_; }
  int64_t repetition_count() const { return repetition_count_; }

  // Seconds of one run, in the order in which they were taken.
  absl::Span<const double> samples() const { return samples_; }
  absl::Span<const double> samples_of(int pass) const;

 private:
  // Seconds that `repetition_count` runs take, by the device's clock where it has one.
  //
  // Errors: the workload's, naming the point; kInternal where the clock stands.
  absl::StatusOr<double> TimeRuns(int64_t repetition_count);
  // What a check found, as a fault of the point.
  absl::Status Wrong(const absl::Status& checked) const;
  // `status`, whose message begins with the point.
  absl::Status Named(const absl::Status& status) const;
  // Sets repetition_count_ and sample_seconds_, knowing what the first, cold run took.
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

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_SAMPLER_H_
