// ReportProgress over the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <string>
#include <vector>

#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "server/telemetry/job_report.h"
#include "tests/server/fake_probe.h"
#include "tests/server/message_matchers.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/test_server.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Response = v1::ReportProgressResponse;

v1::ReportProgressRequest GoodReport() {
  v1::ReportProgressRequest out;
  out.set_job_id("1234");
  out.mutable_start_time()->set_seconds(1'769'860'800);
  out.set_token_count(1'000'000);
  out.set_device_count(8);
  out.add_gpu_uuids("GPU-1");
  out.set_model_flops_per_token(4e11);
  return out;
}

Response::Outcome Report(const TestServer& server, const v1::ReportProgressRequest& request) {
  grpc::ClientContext context;
  Response response;
  const grpc::Status status = server.telemetry().ReportProgress(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.engine_version(), "0.1.0");
  return response.outcome();
}

std::string MetricsOf(const TestServer& server) {
  return httplib::Client("http://" + server.server().http_address()).Get("/metrics")->body;
}

TEST(ReportProgress, MakesSeriesAndIsCounted) {
  const TestServer server;
  EXPECT_THAT(MetricsOf(server), Not(HasSubstr("job_id")));
  EXPECT_EQ(Report(server, GoodReport()), Response::OUTCOME_COUNTED);
  const std::string metrics = MetricsOf(server);
  for (const char* line : {"# TYPE sextant_gpu_model_flops_total counter\n",
                           "sextant_gpu_model_flops_total{job_id=\"1234\",UUID=\"GPU-1\"} 5e+16\n",
                           "# TYPE sextant_job_tokens_total counter\n",
                           "sextant_job_tokens_total{job_id=\"1234\",UUID=\"GPU-1\"} 125000\n",
                           "sextant_calls_total{code=\"OK\",method=\"sextant.v1.TelemetryService/"
                           "ReportProgress\",protocol=\"grpc\"} 1\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  EXPECT_THAT(metrics, Not(HasSubstr("planned_mfu")));
}

TEST(ReportProgress, SaysWhyAReportIsIgnored) {
  const TestServer server;
  v1::ReportProgressRequest report = GoodReport();
  Report(server, report);
  report.set_token_count(1);
  EXPECT_EQ(Report(server, report), Response::OUTCOME_LOWER_COUNT);
  report.mutable_start_time()->set_nanos(1);
  EXPECT_EQ(Report(server, report), Response::OUTCOME_COUNTED);
  report.set_device_count(9);
  EXPECT_EQ(Report(server, report), Response::OUTCOME_CHANGED_SETTINGS);
  EXPECT_EQ(Report(server, GoodReport()), Response::OUTCOME_EARLIER_START);
}

TEST(ReportProgress, TakesTheBlockOfAPlan) {
  const TestServer server;
  v1::PlanRunRequest run = TestServer::GoodRequest();
  run.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  run.mutable_options()->set_assumed_mfu(0.4);
  v1::PlanRunResponse planned;
  ASSERT_TRUE(server.PlanRun(run, &planned).ok());
  const v1::TelemetryPlan& block = planned.plan().whole_run().telemetry();
  ASSERT_GT(block.model_flops_per_token(), 0);
  v1::ReportProgressRequest report = GoodReport();
  *report.mutable_telemetry() = block;
  report.set_token_count(8);
  EXPECT_EQ(Report(server, report), Response::OUTCOME_COUNTED);
  const std::string metrics = MetricsOf(server);
  EXPECT_THAT(metrics, HasSubstr("sextant_job_planned_mfu_ratio{job_id=\"1234\"} 0.4\n"));
  EXPECT_THAT(metrics, HasSubstr("sextant_job_tokens_total{job_id=\"1234\",UUID=\"GPU-1\"} 1\n"));
}

// Missing and invalid fields of a request.
std::vector<std::string> FieldsOf(const v1::ReportProgressRequest& request,
                                  const CalibrationSnapshot& host = NoHost()) {
  const auto report = JobReportFrom(request, host, SourcesTime());
  std::vector<std::string> out;
  for (const FieldViolation& v : FieldViolationsOf(report.status())) out.push_back(v.field);
  return out;
}

TEST(JobReport, NamesEveryFieldThatIsMissing) {
  EXPECT_THAT(FieldsOf({}), ElementsAre("device_count", "job_id", "start_time",
                                        "model_flops_per_token", "gpu_uuids"));
}

TEST(JobReport, NamesEveryFieldThatIsWrong) {
  v1::ReportProgressRequest wrong = GoodReport();
  wrong.set_job_id(std::string(129, 'x'));
  wrong.mutable_start_time()->set_nanos(-1);
  wrong.set_token_count(-1);
  wrong.set_device_count(1);
  wrong.mutable_telemetry()->set_planned_mfu(0);
  wrong.add_gpu_uuids("");
  wrong.add_gpu_uuids("GPU-1");
  wrong.add_gpu_uuids("GPU\n2");
  EXPECT_THAT(FieldsOf(wrong),
              ElementsAre("token_count", "job_id", "start_time", "telemetry.model_flops_per_token",
                          "telemetry.planned_mfu", "telemetry.compute_data_type", "device_count",
                          "gpu_uuids[1]", "gpu_uuids[2]", "gpu_uuids[3]"));
}

TEST(JobReport, TakesPrintableJobIdsAlone) {
  v1::ReportProgressRequest report = GoodReport();
  for (const char* id : {"4711_3", "ns/train-0", "a \"quoted\" \\ name", "~"}) {
    report.set_job_id(id);
    EXPECT_THAT(FieldsOf(report), ElementsAre()) << id;
  }
  for (const char* id : {"two\nlines", "\x7f", "caf\xc3\xa9", "\t"}) {
    report.set_job_id(id);
    EXPECT_THAT(FieldsOf(report), ElementsAre("job_id")) << id;
  }
}

TEST(JobReport, MayStartFiveMinutesAheadOfTheServer) {
  v1::ReportProgressRequest report = GoodReport();
  report.mutable_start_time()->set_seconds(absl::ToUnixSeconds(SourcesTime()) + 300);
  EXPECT_THAT(FieldsOf(report), ElementsAre());
  report.mutable_start_time()->set_nanos(1);
  EXPECT_THAT(FieldsOf(report), ElementsAre("start_time"));
}

// All fields of a report arrive.
TEST(JobReport, CarriesEveryField) {
  v1::ReportProgressRequest wire = GoodReport();
  wire.mutable_start_time()->set_nanos(5);
  wire.mutable_telemetry()->set_model_flops_per_token(3e11);
  wire.mutable_telemetry()->set_planned_mfu(0.25);
  wire.mutable_telemetry()->set_compute_data_type(v1::DATA_TYPE_BF16);
  const auto report = JobReportFrom(wire, NoHost(), SourcesTime());
  ASSERT_THAT(report.status(), IsOk());
  EXPECT_EQ(report->job_id, "1234");
  EXPECT_EQ(report->count.start, absl::FromUnixSeconds(1'769'860'800) + absl::Nanoseconds(5));
  EXPECT_THAT(Numbers(report->count.token_count, report->count.device_count,
                      report->count.model_flops_per_token, report->planned_mfu),
              ElementsAre(1'000'000, 8, 3e11, 0.25));
  EXPECT_THAT(report->gpu_uuids, ElementsAre("GPU-1"));
}

// The measured MFU is against the bf16 peak: one against another peak is not shown next to it.
TEST(JobReport, HasNoPlannedMfuOfAnotherPeak) {
  v1::ReportProgressRequest wire = GoodReport();
  wire.mutable_telemetry()->set_model_flops_per_token(3e11);
  wire.mutable_telemetry()->set_planned_mfu(0.25);
  for (const v1::DataType type : {v1::DATA_TYPE_FP8, v1::DATA_TYPE_FP16, v1::DATA_TYPE_TF32}) {
    wire.mutable_telemetry()->set_compute_data_type(type);
    const auto report = JobReportFrom(wire, NoHost(), SourcesTime());
    ASSERT_THAT(report.status(), IsOk());
    EXPECT_FALSE(report->planned_mfu.has_value()) << type;
  }
}

TEST(JobReport, IsOfTheHostsDevices) {
  CalibrationSnapshot host = SnapshotOf({FakeCalibration()});
  host.is_listed = true;
  v1::ReportProgressRequest wire = GoodReport();
  wire.set_gpu_uuids(0, "host");
  const auto of_processor = JobReportFrom(wire, host, SourcesTime());
  ASSERT_THAT(of_processor.status(), IsOk());
  EXPECT_THAT(of_processor->gpu_uuids, ElementsAre(FakeDevice().uuid()));
  wire.add_gpu_uuids(FakeDevice().uuid());
  EXPECT_THAT(FieldsOf(wire, host), ElementsAre("gpu_uuids[1]")) << "the same device";
  wire.set_gpu_uuids(1, "GPU-elsewhere");
  const absl::Status unknown = JobReportFrom(wire, host, SourcesTime()).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(unknown), "DEVICE_UNKNOWN");
  wire.clear_job_id();
  EXPECT_THAT(FieldsOf(wire, host), ElementsAre("job_id", "gpu_uuids[1]"));
}

// A probe that can't list keeps no job from reporting, but nothing says which device "host" is.
TEST(JobReport, IsOfAnyDeviceWhereTheyAreNotListed) {
  const CalibrationSnapshot loaded = SnapshotOf({FakeCalibration()});
  v1::ReportProgressRequest wire = GoodReport();
  EXPECT_THAT(JobReportFrom(wire, loaded, SourcesTime()).status(), IsOk());
  wire.set_gpu_uuids(0, "host");
  EXPECT_THAT(JobReportFrom(wire, loaded, SourcesTime()).status(), IsOk());
  EXPECT_EQ(ReasonOf(JobReportFrom(wire, NoHost(), SourcesTime()).status()), "DEVICE_UNKNOWN");
}

}  // namespace
}  // namespace sextant::server
