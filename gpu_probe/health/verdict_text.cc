#include "gpu_probe/health/verdict_text.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gpu_probe/enum_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/health/performance_data.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

// The first "|" of a line starts performance data, whoever wrote it.
std::string PlainText(absl::string_view text) {
  return absl::StrReplaceAll(PrintableText(text), {{"|", "/"}});
}

std::string FindingText(const Finding& finding) {
  return finding.figure.empty() ? finding.message
                                : absl::StrCat(finding.figure, ": ", finding.message);
}

std::string FirstFinding(const CheckReport& report, HealthStatus status) {
  for (const InputProblem& problem : report.problems) {
    if (problem.status == status) return absl::StrCat(problem.source, ": ", problem.reason);
  }
  for (const DeviceVerdict& device : report.devices) {
    if (device.status != status) continue;
    return absl::StrCat(device.device.uuid(), " ", FindingText(device.findings.front()));
  }
  return "nothing was judged";
}

std::string Summary(const CheckReport& report, HealthStatus status) {
  if (status == HealthStatus::kOk) {
    const DeviceVerdict& first = report.devices.front();
    const std::string who = report.devices.size() == 1
                                ? absl::StrCat(first.device.uuid(), " is")
                                : absl::StrCat(report.devices.size(), " devices are");
    return absl::StrCat(who, " as fast as expected");
  }
  size_t more = report.problems.size();
  for (const DeviceVerdict& device : report.devices) more += device.findings.size();
  const std::string first = FirstFinding(report, status);
  return more <= 1 ? first : absl::StrCat(first, " (and ", more - 1, " more)");
}

std::string DeviceLine(const DeviceVerdict& verdict) {
  const v1::Device& device = verdict.device;
  std::string text = absl::StrCat(device.uuid(), ": ", HealthStatusText(verdict.status), ", ",
                                  device.product_name());
  if (!device.hostname().empty()) absl::StrAppend(&text, " in ", device.hostname());
  if (device.has_power_limit_watts()) {
    absl::StrAppendFormat(&text, ", limited to %.0f W", device.power_limit_watts());
  }
  absl::StrAppend(&text, ", measured ",
                  google::protobuf::util::TimeUtil::ToString(verdict.measured_time), " (",
                  EnumText(verdict.mode), "), history: ", verdict.history_count,
                  ", peers: ", verdict.peer_count);
  return text;
}

std::string Line(absl::string_view text, size_t hanging) {
  return WrapText(PlainText(text), hanging);
}

std::string RatioText(double log_deficit) {
  return absl::StrFormat("%.1f %%", 100 * std::exp(-log_deficit));
}

std::string FiguresText(const DeviceVerdict& verdict) {
  TextTable table({"figure", ">rate", ">of history", ">of peers", ">z", ""});
  for (const FigureVerdict& f : verdict.figures) {
    table.AddRow({f.name, FineRateText(f.value, f.unit),
                  f.history.has_value() ? RatioText(f.history->log_deficit) : "-",
                  f.peers.has_value() ? RatioText(f.peers->log_deficit) : "-",
                  f.peers.has_value() ? absl::StrFormat("%.1f", f.peers->z) : "-",
                  f.stable ? "" : "unstable"});
  }
  return table.Text();
}

std::string DeviceText(const DeviceVerdict& verdict) {
  std::string text = Line(DeviceLine(verdict), 2);
  for (const Finding& finding : verdict.findings) {
    absl::StrAppend(
        &text,
        Line(absl::StrCat("  ", HealthStatusText(finding.status), " ", FindingText(finding)), 4));
  }
  for (const std::string& note : verdict.notes) {
    absl::StrAppend(&text, Line(absl::StrCat("  - ", note), 4));
  }
  return text;
}

}  // namespace

std::string ReportText(const CheckReport& report) {
  const HealthStatus status = StatusOf(report);
  const std::string data = PerformanceData(report);
  std::string text =
      absl::StrCat("SEXTANT ", HealthStatusText(status), " - ", PlainText(Summary(report, status)),
                   data.empty() ? "" : " | ", data, "\n");
  for (const InputProblem& problem : report.problems) {
    absl::StrAppend(&text, Line(absl::StrCat(problem.source, ": ", HealthStatusText(problem.status),
                                             ", ", problem.reason),
                                2));
  }
  // Some that show it cut it short: what is wrong comes first.
  for (const bool ok : {false, true}) {
    for (const DeviceVerdict& device : report.devices) {
      if ((device.status == HealthStatus::kOk) == ok) absl::StrAppend(&text, DeviceText(device));
    }
  }
  if (report.devices.size() == 1) absl::StrAppend(&text, FiguresText(report.devices[0]));
  for (const std::string& note : report.notes) {
    absl::StrAppend(&text, Line(absl::StrCat("- ", note), 2));
  }
  return text;
}

}  // namespace sextant
