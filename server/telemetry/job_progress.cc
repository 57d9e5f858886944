#include "server/telemetry/job_progress.h"

#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"

namespace sextant::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

absl::Status Full(absl::string_view message, absl::string_view reason) {
  return WithReason(absl::ResourceExhaustedError(message), reason);
}

// The outcome of `next`, where `last` was counted before it.
ReportOutcome OutcomeAfter(const JobCount& last, const JobCount& next) {
  if (next.start != last.start) {
    return next.start > last.start ? ReportOutcome::kCounted : ReportOutcome::kEarlierStart;
  }
  if (next.device_count != last.device_count ||
      next.model_flops_per_token != last.model_flops_per_token) {
    return ReportOutcome::kChangedSettings;
  }
  return next.token_count < last.token_count ? ReportOutcome::kLowerCount : ReportOutcome::kCounted;
}

// One device's share of the job's tokens.
double TokensOf(const JobCount& count) {
  return static_cast<double>(count.token_count) / static_cast<double>(count.device_count);
}

prometheus::ClientMetric& Add(MetricFamily& family, const std::string& job_id) {
  prometheus::ClientMetric& out = family.metric.emplace_back();
  out.label.push_back({"job_id", job_id});
  return out;
}

void AddCount(MetricFamily& family, const std::string& job_id, const std::string& uuid,
              double value) {
  prometheus::ClientMetric& metric = Add(family, job_id);
  metric.label.push_back({"UUID", uuid});
  metric.counter.value = value;
}

}  // namespace

JobProgress::JobProgress(std::function<Clock::time_point()> now) : now_(std::move(now)) {}

bool JobProgress::IsForgotten(const Gpu& gpu, Clock::time_point now) {
  return now - gpu.reported >= kReportedJobLife;
}

void JobProgress::Forget(Clock::time_point now) {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    auto& gpus = job->second.gpus;
    for (auto gpu = gpus.begin(); gpu != gpus.end();) {
      gpu = IsForgotten(gpu->second, now) ? gpus.erase(gpu) : std::next(gpu);
    }
    job = gpus.empty() ? jobs_.erase(job) : std::next(job);
  }
}

absl::StatusOr<ReportOutcome> JobProgress::Report(const JobReport& report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = now_();
  Forget(now);
  const auto found = jobs_.find(report.job_id);
  if (found == jobs_.end() && jobs_.size() >= kMaxReportedJobs) {
    return Full(absl::StrCat(jobs_.size(), " jobs have reported to this host in ten minutes: one ",
                             "has to end first, or all processes of a job give the same job_id"),
                "TOO_MANY_JOBS");
  }
  std::map<std::string, Gpu> none;
  const auto& known = found == jobs_.end() ? none : found->second.gpus;
  size_t gpu_count = known.size();
  for (const std::string& uuid : report.gpu_uuids) {
    const auto last = known.find(uuid);
    if (last == known.end()) {
      ++gpu_count;
      continue;
    }
    const ReportOutcome outcome = OutcomeAfter(last->second.count, report.count);
    if (outcome != ReportOutcome::kCounted) return outcome;
  }
  if (gpu_count > kMaxGpusOfReportedJob) {
    return Full(absl::StrCat("the job would have ", gpu_count, " GPUs on this host, and ",
                             kMaxGpusOfReportedJob, " are kept: give another job_id"),
                "TOO_MANY_GPUS");
  }
  Job& job = jobs_[report.job_id];
  job.planned_mfu = report.planned_mfu;
  for (const std::string& uuid : report.gpu_uuids) job.gpus[uuid] = {report.count, now};
  return ReportOutcome::kCounted;
}

std::vector<MetricFamily> JobProgress::Collect() const {
  MetricFamily flops = {.name = "sextant_gpu_model_flops_total",
                        .help =
                            "Model FLOPs of a job that this GPU did, as the job reports: a "
                            "device's equal share of the job's.",
                        .type = MetricType::Counter,
                        .metric = {}};
  MetricFamily tokens = {.name = "sextant_job_tokens_total",
                         .help =
                             "This GPU's equal share of the tokens that a job reports: the sum "
                             "over its GPUs on all hosts is the job's.",
                         .type = MetricType::Counter,
                         .metric = {}};
  MetricFamily planned = {.name = "sextant_job_planned_mfu_ratio",
                          .help = "MFU of the job's plan, against the bf16 peak.",
                          .type = MetricType::Gauge,
                          .metric = {}};
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = now_();
  for (const auto& [id, job] : jobs_) {
    bool is_shown = false;
    for (const auto& [uuid, gpu] : job.gpus) {
      if (IsForgotten(gpu, now)) continue;
      is_shown = true;
      const double share = TokensOf(gpu.count);
      AddCount(flops, id, uuid, share * gpu.count.model_flops_per_token);
      AddCount(tokens, id, uuid, share);
    }
    if (is_shown && job.planned_mfu.has_value()) Add(planned, id).gauge.value = *job.planned_mfu;
  }
  std::vector<MetricFamily> out;
  for (MetricFamily* family : {&flops, &tokens, &planned}) {
    if (!family->metric.empty()) out.push_back(std::move(*family));
  }
  return out;
}

}  // namespace sextant::server
