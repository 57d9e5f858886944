// How far the training jobs of this host are, by their own reports, and as Prometheus metrics.
#ifndef SEXTANT_SERVER_TELEMETRY_JOB_PROGRESS_H_
#define SEXTANT_SERVER_TELEMETRY_JOB_PROGRESS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sextant::server {

inline constexpr size_t kMaxReportedJobs = 64;
inline constexpr size_t kMaxGpusOfReportedJob = 64;

// A GPU of a job is forgotten this long after the last report that was counted for it.
inline constexpr std::chrono::minutes kReportedJobLife(10);

// A reporter's count since it began.
struct JobCount {
  absl::Time start = {};
  int64_t token_count = 0;           // of the whole job
  int64_t device_count = 1;          // of the whole job
  double model_flops_per_token = 0;  // FLOPs
};

// One report, checked.
struct JobReport {
  std::string job_id;
  JobCount count = {};
  std::vector<std::string> gpu_uuids = {};  // of this host, each once
  absl::optional<double> planned_mfu = {};  // against the bf16 peak
};

enum class ReportOutcome {
  kCounted,
  kEarlierStart,    // a GPU was reported with a later start
  kLowerCount,      // with the same start and more tokens
  kChangedSettings  // with the same start and another device count or FLOPs a token
};

// Keeps the last report of each job's GPUs, and no history: what a restarted server shows is right
// once each reporter has reported again. Thread-safe.
//
// All counters are of one GPU, also those of a job's tokens. A sum over the host's GPUs would jump
// whenever one joins, restarts or is forgotten, and rate() would take that for work.
class JobProgress final : public prometheus::Collectable {
 public:
  using Clock = std::chrono::steady_clock;

  explicit JobProgress(std::function<Clock::time_point()> now = Clock::now);

  // Counts `report` for all of its GPUs, or for none.
  //
  // Errors: kResourceExhausted with reason TOO_MANY_JOBS or TOO_MANY_GPUS.
  absl::StatusOr<ReportOutcome> Report(const JobReport& report);

  // The series of the jobs that are not forgotten.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Gpu {
    JobCount count;
    Clock::time_point reported = {};
  };
  struct Job {
    std::map<std::string, Gpu> gpus;          // by UUID
    absl::optional<double> planned_mfu = {};  // the last report's
  };

  static bool IsForgotten(const Gpu& gpu, Clock::time_point now);
  void Forget(Clock::time_point now);

  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;  // by job_id
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_TELEMETRY_JOB_PROGRESS_H_
