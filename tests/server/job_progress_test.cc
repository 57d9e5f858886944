#include "server/telemetry/job_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/reason.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const absl::Time kStart = absl::FromUnixSeconds(1'769'860'800);

// A job of 8 devices and 400 FLOPs a token that reports 2 of them.
JobReport ReportOf(int64_t token_count) {
  return {.job_id = "job",
          .count = {.start = kStart,
                    .token_count = token_count,
                    .device_count = 8,
                    .model_flops_per_token = 400},
          .gpu_uuids = {"GPU-a", "GPU-b"}};
}

class JobProgressTest : public ::testing::Test {
 protected:
  ReportOutcome Report(const JobReport& report) {
    const absl::StatusOr<ReportOutcome> outcome = jobs_.Report(report);
    EXPECT_THAT(outcome.status(), IsOk());
    return outcome.value_or(ReportOutcome::kChangedSettings);
  }

  // The lines of a scrape that are series.
  std::vector<std::string> Series() const {
    const std::string text = prometheus::TextSerializer().Serialize(jobs_.Collect());
    std::vector<std::string> out;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!line.empty() && line[0] != '#') out.emplace_back(line);
    }
    return out;
  }

  void Pass(std::chrono::milliseconds time) { now_ += time; }

  JobProgress::Clock::time_point now_{};
  JobProgress jobs_{[this] { return now_; }};
};

TEST_F(JobProgressTest, GivesEachGpuItsShare) {
  EXPECT_THAT(Series(), IsEmpty());
  JobReport report = ReportOf(1000);
  report.planned_mfu = 0.5;
  EXPECT_EQ(Report(report), ReportOutcome::kCounted);
  // 1000 tokens x 400 FLOPs / 8 devices, and 1000 tokens / 8.
  EXPECT_THAT(Series(), UnorderedElementsAre(
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-a\"} 50000",
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-b\"} 50000",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-a\"} 125",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-b\"} 125",
                            "sextant_job_planned_mfu_ratio{job_id=\"job\"} 0.5"));
}

TEST_F(JobProgressTest, AddsUpReportersOfOneJob) {
  Report(ReportOf(1000));
  JobReport other = ReportOf(1600);  // further: it reported later
  other.gpu_uuids = {"GPU-c"};
  other.count.start += absl::Seconds(1);
  EXPECT_EQ(Report(other), ReportOutcome::kCounted);
  EXPECT_THAT(Series(), UnorderedElementsAre(
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-a\"} 50000",
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-b\"} 50000",
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-c\"} 80000",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-a\"} 125",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-b\"} 125",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-c\"} 200"));
}

TEST_F(JobProgressTest, TakesARepeatedReportOnce) {
  Report(ReportOf(1000));
  const std::vector<std::string> once = Series();
  EXPECT_EQ(Report(ReportOf(1000)), ReportOutcome::kCounted);
  EXPECT_EQ(Series(), once);
}

TEST_F(JobProgressTest, IgnoresWhatComesLate) {
  Report(ReportOf(1000));
  const std::vector<std::string> before = Series();
  EXPECT_EQ(Report(ReportOf(999)), ReportOutcome::kLowerCount);
  JobReport earlier = ReportOf(5000);
  earlier.count.start -= absl::Nanoseconds(1);
  EXPECT_EQ(Report(earlier), ReportOutcome::kEarlierStart);
  // For all GPUs or for none.
  JobReport wider = ReportOf(999);
  wider.gpu_uuids.push_back("GPU-c");
  EXPECT_EQ(Report(wider), ReportOutcome::kLowerCount);
  EXPECT_EQ(Series(), before);
}

TEST_F(JobProgressTest, RestartsWithALaterStart) {
  Report(ReportOf(1000));
  JobReport restarted = ReportOf(80);
  restarted.count.start += absl::Seconds(60);
  restarted.count.device_count = 4;
  EXPECT_EQ(Report(restarted), ReportOutcome::kCounted);
  EXPECT_THAT(Series(), Contains("sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-a\"} 20"));
  EXPECT_EQ(Report(ReportOf(1001)), ReportOutcome::kEarlierStart);
}

// They would change what was counted before.
TEST_F(JobProgressTest, RefusesOtherSettingsOfOneStart) {
  Report(ReportOf(1000));
  const std::vector<std::string> before = Series();
  JobReport devices = ReportOf(2000);
  devices.count.device_count = 16;
  EXPECT_EQ(Report(devices), ReportOutcome::kChangedSettings);
  JobReport flops = ReportOf(2000);
  flops.count.model_flops_per_token = 401;
  EXPECT_EQ(Report(flops), ReportOutcome::kChangedSettings);
  EXPECT_EQ(Series(), before);
}

TEST_F(JobProgressTest, ForgetsAGpuTenMinutesAfterItsLastReport) {
  JobReport report = ReportOf(1000);
  report.planned_mfu = 0.5;
  Report(report);
  Pass(std::chrono::minutes(5));
  report.gpu_uuids = {"GPU-b"};
  Report(report);
  Pass(std::chrono::minutes(5) - std::chrono::milliseconds(1));
  EXPECT_EQ(Series().size(), 5u);
  Pass(std::chrono::milliseconds(1));
  EXPECT_THAT(Series(), UnorderedElementsAre(
                            "sextant_gpu_model_flops_total{job_id=\"job\",UUID=\"GPU-b\"} 50000",
                            "sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-b\"} 125",
                            "sextant_job_planned_mfu_ratio{job_id=\"job\"} 0.5"));
  Pass(std::chrono::minutes(5));
  EXPECT_THAT(Series(), IsEmpty());
}

// A report that is ignored keeps nothing alive.
TEST_F(JobProgressTest, ForgetsDespiteLateReports) {
  Report(ReportOf(1000));
  Pass(std::chrono::minutes(9));
  EXPECT_EQ(Report(ReportOf(1)), ReportOutcome::kLowerCount);
  Pass(std::chrono::minutes(1));
  EXPECT_THAT(Series(), IsEmpty());
  EXPECT_EQ(Report(ReportOf(1)), ReportOutcome::kCounted) << "nothing is known of it";
}

// A server that starts again knows all once every reporter has reported.
TEST_F(JobProgressTest, OfARestartedServerAreRightAfterTheNextReport) {
  Report(ReportOf(1000));
  Report(ReportOf(3000));
  JobProgress restarted([this] { return now_; });
  ASSERT_THAT(restarted.Report(ReportOf(3000)).status(), IsOk());
  EXPECT_EQ(prometheus::TextSerializer().Serialize(restarted.Collect()),
            prometheus::TextSerializer().Serialize(jobs_.Collect()));
}

TEST_F(JobProgressTest, AreOfSixtyFourJobsAtMost) {
  JobReport report = ReportOf(8);
  for (size_t i = 0; i < kMaxReportedJobs; ++i) {
    report.job_id = absl::StrCat("job", i);
    Report(report);
    Pass(std::chrono::seconds(1));
  }
  report.job_id = "one more";
  const auto refused = jobs_.Report(report);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused.status()), "TOO_MANY_JOBS");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("64 jobs"));
  report.job_id = "job0";
  Report(report);  // those that are known report on
  Pass(std::chrono::minutes(10) - std::chrono::seconds(63));
  report.job_id = "one more";
  Report(report);  // job1 has ended
  EXPECT_EQ(Series().size(), 64u * 4);
}

TEST_F(JobProgressTest, AreOfSixtyFourGpusOfAJobAtMost) {
  JobReport report = ReportOf(8);
  report.gpu_uuids.clear();
  for (size_t i = 0; i < kMaxGpusOfReportedJob; ++i) {
    report.gpu_uuids.push_back(absl::StrCat("GPU-", i));
  }
  EXPECT_EQ(Report(report), ReportOutcome::kCounted);
  EXPECT_EQ(Report(report), ReportOutcome::kCounted) << "the same ones";
  JobReport more = ReportOf(8);
  const auto refused = jobs_.Report(more);
  EXPECT_EQ(ReasonOf(refused.status()), "TOO_MANY_GPUS");
  EXPECT_EQ(Series().size(), 64u * 2);
  more.job_id = "another";
  EXPECT_EQ(Report(more), ReportOutcome::kCounted);
}

// Reporters and scrapers at the same time.
TEST_F(JobProgressTest, AreReportedAndScrapedByManyThreads) {
  constexpr int kThreads = 4;
  constexpr int64_t kReports = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      JobReport report = ReportOf(0);
      report.gpu_uuids = {absl::StrCat("GPU-", i)};
      for (int64_t step = 1; step <= kReports; ++step) {
        report.count.token_count = 8 * step;
        EXPECT_EQ(Report(report), ReportOutcome::kCounted);
        if (step % 50 != 0) continue;
        EXPECT_THAT(Series(), Not(IsEmpty()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_THAT(Series(),
                Contains(absl::StrCat("sextant_job_tokens_total{job_id=\"job\",UUID=\"GPU-", i,
                                      "\"} 500")));
  }
}

}  // namespace
}  // namespace sextant::server
