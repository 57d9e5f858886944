// Reports as text by the Monitoring Plugins Guidelines, and as JSON.
#include "gpu_probe/health/report.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <regex>

#include "absl/strings/str_split.h"
#include "tests/gpu_probe/health/synthetic.h"

namespace sextant::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CheckReport ReportOver(const std::vector<SyntheticGpu>& gpus) {
  CheckReport report;
  report.devices = VerdictsOver(gpus, kAtOnce);
  report.now_unix_seconds = kNow;
  return report;
}

std::vector<std::string> Lines(const std::string& text) {
  EXPECT_EQ(text.back(), '\n');
  return absl::StrSplit(text.substr(0, text.size() - 1), '\n');
}

// One device with a history.
std::vector<SyntheticGpu> One(double speed, int history = 5) {
  SyntheticGpu gpu;
  gpu.speeds = Everywhere(speed);
  return WithHistory(gpu, Everywhere(1), history);
}

// 'label'=value[UOM];[warn];[crit];[min];[max]: no exponent, no comma.
const std::regex& Datum() {
  static const std::regex datum(
      R"re('[^'=|]+'=[0-9]+(\.[0-9]+)?;([0-9.]+:)?;([0-9.]+:)?;0(;[0-9]+)?)re");
  return datum;
}

TEST(ReportTest, PerformanceDataIsAsTheGuidelinesHaveIt) {
  for (const auto& gpus : {One(1), One(0.9), Node()}) {
    const std::string data = PerformanceData(ReportOver(gpus));
    EXPECT_FALSE(data.empty());
    for (const absl::string_view datum : absl::StrSplit(data, ' ')) {
      EXPECT_TRUE(std::regex_match(std::string(datum), Datum())) << datum;
    }
  }
}

// 3e12 B/s; of a history of 3e12 it is slow below 95 %, which is CRITICAL if the history is long.
TEST(ReportTest, OneDevicesFiguresAndWhereTheyAreCritical) {
  EXPECT_THAT(PerformanceData(ReportOver(One(1))),
              HasSubstr("'copy_bytes_per_second'=3000000000000;2850000000000:;2850000000000:;0"));
  EXPECT_THAT(PerformanceData(ReportOver(One(1, 4))),
              HasSubstr("'copy_bytes_per_second'=3000000000000;2850000000000:;;0"));
  EXPECT_THAT(PerformanceData(ReportOver(One(1))),
              HasSubstr("'matmul_bf16_sustained_flops_per_second'=630000000000000;"));
}

TEST(ReportTest, OfSeveralTheLowestRatio) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[4].speeds[kCopy] = 0.8;
  const std::string data = PerformanceData(ReportOver(gpus));
  EXPECT_THAT(data, StartsWith("'devices_ok'=7;;;0;8 'devices_warning'=0;;;0;8 "
                               "'devices_critical'=1;;;0;8 'devices_unknown'=0;;;0;8 "));
  EXPECT_THAT(data, HasSubstr("'GPU-4_lowest_ratio'=0.8000;;;0"));
  EXPECT_THAT(data, HasSubstr("'GPU-5_lowest_ratio'=1.0000;;;0"));
}

TEST(ReportTest, ALargeFleetsLineStaysShort) {
  CheckReport report = ReportOver(Node());
  report.devices.resize(32, report.devices[0]);
  EXPECT_THAT(PerformanceData(report), HasSubstr("_lowest_ratio"));
  report.devices.resize(1000, report.devices[0]);
  EXPECT_EQ(PerformanceData(report),
            "'devices_ok'=1000;;;0;1000 'devices_warning'=0;;;0;1000 "
            "'devices_critical'=0;;;0;1000 'devices_unknown'=0;;;0;1000");
}

TEST(ReportTest, TheFirstLineSaysHowItIsAndWhy) {
  EXPECT_THAT(ReportText(ReportOver(One(1))),
              StartsWith("SEXTANT OK - GPU-0 is as fast as expected | 'matmul_bf16_flops"));
  EXPECT_THAT(ReportText(ReportOver(Node())),
              StartsWith("SEXTANT OK - 8 devices are as fast as expected | 'devices_ok'=8;"));
  std::vector<SyntheticGpu> gpus = Node();
  gpus[4].speeds[kCopy] = 0.8;
  EXPECT_THAT(
      ReportText(ReportOver(gpus)),
      StartsWith("SEXTANT CRITICAL - GPU-4 copy: 2.400 TB/s is 20.0 % below 3.000 TB/s, the "
                 "median of 7 peers"));
  EXPECT_THAT(ReportText(ReportOver({{}})), StartsWith("SEXTANT UNKNOWN - GPU-0 was measured, but "
                                                       "there is nothing to compare it with | "));
}

TEST(ReportTest, NothingAtAllIsUnknown) {
  CheckReport report;
  EXPECT_EQ(StatusOf(report), HealthStatus::kUnknown);
  EXPECT_EQ(ReportText(report), "SEXTANT UNKNOWN - nothing was judged\n");
}

TEST(ReportTest, ABadFileSpoilsAnOk) {
  CheckReport report = ReportOver(Node());
  EXPECT_EQ(StatusOf(report), HealthStatus::kOk);
  report.problems.push_back({.source = "x.json", .reason = "it is torn"});
  EXPECT_EQ(StatusOf(report), HealthStatus::kUnknown);
  EXPECT_THAT(ReportText(report), StartsWith("SEXTANT UNKNOWN - x.json: it is torn | "));
  EXPECT_THAT(ReportText(report), HasSubstr("\nx.json: UNKNOWN, it is torn\n"));
}

// Names come from devices and files: none may end the text, or steer a terminal.
TEST(ReportTest, NamesCantForgeOutput) {
  std::vector<SyntheticGpu> gpus = One(0.5);
  for (SyntheticGpu& gpu : gpus) gpu.product_name = "A | 'copy'=1\n\x1b[2J";
  CheckReport report = ReportOver(gpus);
  report.problems.push_back({.source = "a|b\nSEXTANT OK", .reason = "|"});
  const std::string text = ReportText(report);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::vector<std::string> lines = Lines(text);
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), '|'), 1);
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].find('|'), std::string::npos) << lines[i];
    EXPECT_LE(lines[i].size(), 99u) << lines[i];
    EXPECT_NE(lines[i].substr(0, 7), "SEXTANT");
  }
}

TEST(ReportTest, JsonHasAllFiguresAndFindings) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[4].speeds[kCopy] = 0.8;
  const std::string json = ReportJson(ReportOver(gpus));
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
  google::protobuf::Struct parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok()) << json;
  const auto& report = parsed.fields();
  EXPECT_EQ(report.at("status").string_value(), "CRITICAL");
  EXPECT_EQ(report.at("exitCode").number_value(), 2);
  EXPECT_EQ(report.at("checkedTime").string_value(), "2027-01-15T08:00:00Z");
  ASSERT_EQ(report.at("devices").list_value().values_size(), 8);
  const auto& device = report.at("devices").list_value().values(4).struct_value().fields();
  EXPECT_EQ(device.at("uuid").string_value(), "GPU-4");
  EXPECT_EQ(device.at("powerLimitWatts").number_value(), 700);
  const auto& copy = device.at("figures").list_value().values(kCopy).struct_value().fields();
  EXPECT_EQ(copy.at("figure").string_value(), "copy");
  EXPECT_NEAR(copy.at("peers").struct_value().fields().at("ratio").number_value(), 0.8, 1e-12);
  EXPECT_EQ(copy.count("history"), 0u);
  const auto& finding = device.at("findings").list_value().values(0).struct_value().fields();
  EXPECT_EQ(finding.at("rule").string_value(), "peers");
  EXPECT_EQ(finding.at("unit").string_value(), "B/s");
  EXPECT_NEAR(finding.at("value").number_value(), 2.4e12, 1);
  EXPECT_NEAR(finding.at("reference").number_value(), 3e12, 1);
}

TEST(ReportTest, JsonQuotesWhatNamesHold) {
  google::protobuf::SetLogHandler(nullptr);  // as the program does: it would say so on stderr
  CheckReport report;
  report.problems.push_back({.source = "a\"b\\\n\xff", .reason = "é"});
  google::protobuf::Struct parsed;
  const std::string json = ReportJson(report);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok()) << json;
  const auto& problem =
      parsed.fields().at("problems").list_value().values(0).struct_value().fields();
  EXPECT_THAT(problem.at("source").string_value(), StartsWith("a\"b\\\n"));
  EXPECT_EQ(problem.at("reason").string_value(), "é");
}

}  // namespace
}  // namespace sextant::probe
