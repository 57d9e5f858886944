#include "gpu_probe/cuda/gemm/matmul_trial.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gemm/gpu_stopwatch.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant {
namespace {

constexpr size_t kTriedChoiceCount = 4;
constexpr double kTrialRunCount = 3;
constexpr double kMostTrialRunCount = 20;

// Long against an event's half a microsecond.
constexpr double kTrialSeconds = 60e-6;

// Differences below this are noise.
constexpr double kWorthTelling = 1.02;

// Of one run.
absl::StatusOr<double> TimeChoice(const GpuMatmul& matmul, size_t choice,
                                  const GpuMatmulOperands& operands, GpuSession& session) {
  const auto time = [&](double run_count) {
    return SecondsOnGpu(session, [&] {
      absl::Status queued;
      for (double i = 0; i < run_count && queued.ok(); ++i) {
        queued = matmul.Enqueue(choice, operands);
      }
      return queued;
    });
  };
  SEXTANT_RETURN_IF_ERROR(time(1).status());
  SEXTANT_ASSIGN_OR_RETURN(const double once_seconds, time(1));
  if (once_seconds <= 0 || kTrialRunCount * once_seconds > kMostQueuedSeconds) return once_seconds;
  const double run_count =
      std::clamp(std::ceil(kTrialSeconds / once_seconds), kTrialRunCount, kMostTrialRunCount);
  SEXTANT_ASSIGN_OR_RETURN(const double seconds, time(run_count));
  return seconds / run_count;
}

}  // namespace

absl::StatusOr<MatmulTrial> TryAlgorithms(const GpuMatmul& matmul,
                                          const GpuMatmulOperands& operands, GpuSession& session,
                                          TrialBudget& budget) {
  MatmulTrial out;
  if (budget.left_seconds <= 0 || matmul.choice_count() < 2) return out;
  const double start_seconds = budget.clock->NowSeconds();
  SEXTANT_ASSIGN_OR_RETURN(const double first_seconds, TimeChoice(matmul, 0, operands, session));
  double best_seconds = first_seconds / kWorthTelling;
  for (size_t i = 1; i < std::min(matmul.choice_count(), kTriedChoiceCount); ++i) {
    const auto seconds = TimeChoice(matmul, i, operands, session);
    if (!seconds.ok()) {
      // Where the GPU itself failed this fails as well.
      SEXTANT_RETURN_IF_ERROR(session.Synchronize());
      continue;
    }
    if (*seconds <= 0 || *seconds >= best_seconds) continue;
    best_seconds = *seconds;
    out = {.choice = i, .speed_ratio = first_seconds / *seconds};
  }
  budget.left_seconds -= budget.clock->NowSeconds() - start_seconds;
  return out;
}

}  // namespace sextant
