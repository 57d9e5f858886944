#include "gpu_probe/cuda/gemm/matmul_trial.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/base/status_macros.h"
#include "gpu_probe/statistics.h"

namespace sextant {
namespace {

constexpr size_t kTriedChoiceCount = 4;
constexpr int kBestSampleCount = 5;
constexpr double kMostTrialRuns = 1000;

// Differences below this are noise.
constexpr double kWorthChoosing = 1.02;

// Of one run, in a sample as long as a point's.
absl::StatusOr<double> TimeSample(GpuMatmulWorkload& workload, double run_seconds) {
  const auto runs = static_cast<int64_t>(
      std::clamp(std::ceil(kGpuSampleSeconds / run_seconds), 1.0, kMostTrialRuns));
  SEXTANT_RETURN_IF_ERROR(workload.Run(runs));
  return *workload.DeviceSeconds() / static_cast<double>(runs);
}

// The same of a workload that never ran: the first run loads its kernel.
absl::StatusOr<double> TimeNew(GpuMatmulWorkload& workload) {
  SEXTANT_RETURN_IF_ERROR(workload.Run(1));
  SEXTANT_RETURN_IF_ERROR(workload.Run(1));
  const double once_seconds = *workload.DeviceSeconds();
  if (once_seconds <= 0) return once_seconds;
  SEXTANT_RETURN_IF_ERROR(TimeSample(workload, once_seconds).status());  // makes recordings
  return TimeSample(workload, once_seconds);
}

absl::StatusOr<double> MedianSeconds(GpuMatmulWorkload& workload, double run_seconds) {
  workload.Poison();
  std::vector<double> samples;
  for (int i = 0; i < kBestSampleCount; ++i) {
    SEXTANT_ASSIGN_OR_RETURN(const double seconds, TimeSample(workload, run_seconds));
    samples.push_back(seconds);
  }
  SEXTANT_RETURN_IF_ERROR(workload.Check());
  return Median(samples);
}

}  // namespace

absl::StatusOr<MatmulTrial> TryAlgorithms(
    const std::function<std::unique_ptr<GpuMatmulWorkload>(size_t choice)>& make,
    size_t choice_count, GpuSession& session, TrialBudget& budget) {
  MatmulTrial out;
  if (budget.left_seconds <= 0 || choice_count < 2) return out;
  const double start_seconds = budget.clock->NowSeconds();
  std::unique_ptr<GpuMatmulWorkload> best = make(0);
  SEXTANT_ASSIGN_OR_RETURN(const double first_seconds, TimeNew(*best));
  double best_seconds = first_seconds / kWorthChoosing;
  for (size_t i = 1; i < std::min(choice_count, kTriedChoiceCount); ++i) {
    std::unique_ptr<GpuMatmulWorkload> workload = make(i);
    const absl::StatusOr<double> seconds = TimeNew(*workload);
    if (!seconds.ok()) {
      // Where the GPU itself failed this fails as well.
      SEXTANT_RETURN_IF_ERROR(session.Synchronize());
      continue;
    }
    if (*seconds <= 0 || *seconds >= best_seconds) continue;
    best_seconds = *seconds;
    out.choice = i;
    best = std::move(workload);
  }
  if (out.choice != 0) {
    SEXTANT_ASSIGN_OR_RETURN(out.median_seconds, MedianSeconds(*best, best_seconds));
  }
  budget.left_seconds -= budget.clock->NowSeconds() - start_seconds;
  return out;
}

}  // namespace sextant
