#include "gpu_probe/health/report.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/health/slow_figures.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/table.h"

namespace sextant::probe {
namespace {

// Nagios takes 8 KiB of a plugin's output; a GPU's UUID alone has 40 bytes.
constexpr size_t kMaxRatioCount = 32;

// Labels without blanks and signs: some programs that store them accept neither.
std::string Label(const FigureVerdict& figure) {
  const char* unit = figure.unit == "FLOP/s" ? "flops_per_second" : "bytes_per_second";
  return absl::StrCat(absl::StrReplaceAll(figure.name, {{" ", "_"}}), "_", unit);
}

// Whole numbers without an exponent, which not all programs can read.
std::string OfFigure(const FigureVerdict& figure) {
  const auto below = [](double rate) { return rate > 0 ? absl::StrFormat("%.0f:", rate) : ""; };
  return absl::StrFormat("'%s'=%.0f;%s;%s;0", Label(figure), figure.value,
                         below(figure.warning_below), below(figure.critical_below));
}

absl::optional<double> LowestRatio(const DeviceVerdict& device) {
  absl::optional<double> lowest;
  const auto consider = [&lowest](double log_deficit) {
    lowest = std::min(lowest.value_or(HUGE_VAL), std::exp(-log_deficit));
  };
  for (const FigureVerdict& figure : device.figures) {
    if (figure.history.has_value()) consider(figure.history->log_deficit);
    if (figure.peers.has_value()) consider(figure.peers->log_deficit);
  }
  return lowest;
}

std::string Count(const CheckReport& report, const char* label, HealthStatus status) {
  const auto count = std::count_if(report.devices.begin(), report.devices.end(),
                                   [status](const DeviceVerdict& d) { return d.status == status; });
  return absl::StrFormat("'%s'=%d;;;0;%d", label, count, report.devices.size());
}

// `words` without characters that control a terminal. "|" is replaced, too: the first one of a line
// starts performance data, whatever its origin.
std::string PlainText(const std::string& words) {
  return absl::StrReplaceAll(text::Printable(words), {{"\n", "?"}, {"|", "/"}});
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
  std::string out = absl::StrCat(device.uuid(), ": ", HealthStatusText(verdict.status), ", ",
                                 device.product_name());
  if (!device.hostname().empty()) absl::StrAppend(&out, " in ", device.hostname());
  if (device.has_power_limit_watts()) {
    absl::StrAppendFormat(&out, ", limited to %.0f W", device.power_limit_watts());
  }
  absl::StrAppend(&out, ", measured ",
                  google::protobuf::util::TimeUtil::ToString(verdict.measured_time), " (",
                  text::EnumLabel(verdict.mode), "), history: ", verdict.history_count,
                  ", peers: ", verdict.peer_count);
  return out;
}

std::string Line(absl::string_view first, const std::string& words, size_t hanging) {
  return text::Wrap(first, PlainText(words), hanging);
}

std::string RatioText(double log_deficit) { return text::PercentToTenth(std::exp(-log_deficit)); }

std::string FiguresText(const DeviceVerdict& verdict) {
  if (verdict.figures.empty()) return "";
  using text::Align;
  text::Table table(
      2, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"figure", "rate", "of history", "of peers", "z"});
  for (const FigureVerdict& f : verdict.figures) {
    table.AddRow({f.name, text::ScaledToFourDigits(f.value, f.unit),
                  f.history.has_value() ? RatioText(f.history->log_deficit) : "-",
                  f.peers.has_value() ? RatioText(f.peers->log_deficit) : "-",
                  f.peers.has_value() ? absl::StrFormat("%.1f", f.peers->z) : "-",
                  f.stable ? "" : "unstable"});
  }
  return text::Printable(table.Text());
}

std::string DeviceText(const DeviceVerdict& verdict) {
  std::string out = Line("", DeviceLine(verdict), 2);
  for (const Finding& finding : verdict.findings) {
    absl::StrAppend(
        &out,
        Line("  ", absl::StrCat(HealthStatusText(finding.status), " ", FindingText(finding)), 4));
  }
  for (const std::string& note : verdict.notes) absl::StrAppend(&out, Line("  - ", note, 4));
  return out;
}

// `text` escaped by protobuf; bytes that are not UTF-8 are left out.
std::string Quoted(absl::string_view text) {
  google::protobuf::Value value;
  value.set_string_value(std::string(text));
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(value, &json);
  return printed.ok() ? json : R"json("")json";
}

// JSON is written as text, because protobuf's Struct would reorder the keys, and nlohmann's JSON
// would write numbers with fewer digits than this format has always had.
std::string Number(double finite) { return absl::StrFormat("%.17g", finite); }
std::string NumberAboveZero(double value) { return value > 0 ? Number(value) : ""; }
std::string QuotedUnlessEmpty(const std::string& text) { return text.empty() ? "" : Quoted(text); }

struct Member {
  const char* key;
  std::string json;  // empty for a member to leave out
};

std::string Object(const std::vector<Member>& members) {
  std::vector<std::string> present;
  for (const Member& member : members) {
    if (!member.json.empty()) present.push_back(absl::StrCat("\"", member.key, "\":", member.json));
  }
  return absl::StrCat("{", absl::StrJoin(present, ","), "}");
}

template <typename List, typename ToJson>
std::string Array(const List& list, ToJson to_json) {
  const auto append = [&](std::string* out, const auto& each) { out->append(to_json(each)); };
  return absl::StrCat("[", absl::StrJoin(list, ",", append), "]");
}

std::string PeersJson(const absl::optional<PeerReference>& peers) {
  if (!peers.has_value()) return "";
  return Object({{"ratio", Number(std::exp(-peers->log_deficit))},
                 {"doubt", Number(peers->doubt)},
                 {"z", Number(peers->z)},
                 {"count", absl::StrCat(peers->count)}});
}

std::string FigureJson(const FigureVerdict& figure) {
  const absl::optional<HistoryReference>& history = figure.history;
  return Object({{"figure", Quoted(figure.name)},
                 {"unit", Quoted(figure.unit)},
                 {"value", Number(figure.value)},
                 {"stable", figure.stable ? "true" : "false"},
                 {"warningBelow", NumberAboveZero(figure.warning_below)},
                 {"criticalBelow", NumberAboveZero(figure.critical_below)},
                 {"history", !history.has_value()
                                 ? ""
                                 : Object({{"ratio", Number(std::exp(-history->log_deficit))},
                                           {"doubt", Number(history->doubt)},
                                           {"count", absl::StrCat(history->count)}})},
                 {"peers", PeersJson(figure.peers)}});
}

std::string FindingJson(const Finding& finding) {
  return Object({{"status", Quoted(HealthStatusText(finding.status))},
                 {"rule", Quoted(finding.rule)},
                 {"figure", QuotedUnlessEmpty(finding.figure)},
                 {"unit", QuotedUnlessEmpty(finding.unit)},
                 {"value", NumberAboveZero(finding.value)},
                 {"reference", NumberAboveZero(finding.reference)},
                 {"ratio", NumberAboveZero(finding.ratio)},
                 {"message", Quoted(finding.message)}});
}

std::string DeviceJson(const DeviceVerdict& verdict) {
  const v1::Device& device = verdict.device;
  return Object(
      {{"uuid", Quoted(device.uuid())},
       {"status", Quoted(HealthStatusText(verdict.status))},
       {"productName", Quoted(device.product_name())},
       {"hostname", QuotedUnlessEmpty(device.hostname())},
       {"powerLimitWatts",
        device.has_power_limit_watts() ? Number(device.power_limit_watts()) : ""},
       {"mode", Quoted(text::EnumLabel(verdict.mode))},
       {"measuredTime", Quoted(google::protobuf::util::TimeUtil::ToString(verdict.measured_time))},
       {"ageSeconds", Number(verdict.age_seconds)},
       {"historyCount", absl::StrCat(verdict.history_count)},
       {"peerCount", absl::StrCat(verdict.peer_count)},
       {"overall", PeersJson(verdict.overall)},
       {"figures", Array(verdict.figures, FigureJson)},
       {"findings", Array(verdict.findings, FindingJson)},
       {"notes", Array(verdict.notes, Quoted)}});
}

std::string ProblemJson(const InputProblem& problem) {
  return Object({{"status", Quoted(HealthStatusText(problem.status))},
                 {"source", Quoted(problem.source)},
                 {"reason", Quoted(problem.reason)}});
}

}  // namespace

std::string PerformanceData(const CheckReport& report) {
  std::vector<std::string> data;
  if (report.devices.size() == 1) {
    for (const FigureVerdict& f : report.devices[0].figures) data.push_back(OfFigure(f));
    return absl::StrJoin(data, " ");
  }
  if (report.devices.empty()) return "";
  data = {Count(report, "devices_ok", HealthStatus::kOk),
          Count(report, "devices_warning", HealthStatus::kWarning),
          Count(report, "devices_critical", HealthStatus::kCritical),
          Count(report, "devices_unknown", HealthStatus::kUnknown)};
  if (report.devices.size() > kMaxRatioCount) return absl::StrJoin(data, " ");
  for (const DeviceVerdict& device : report.devices) {
    const absl::optional<double> lowest = LowestRatio(device);
    if (!lowest.has_value()) continue;
    data.push_back(absl::StrFormat("'%s_lowest_ratio'=%.4f;;;0", device.device.uuid(), *lowest));
  }
  return absl::StrJoin(data, " ");
}

std::string ReportText(const CheckReport& report) {
  const HealthStatus status = StatusOf(report);
  const std::string data = PerformanceData(report);
  std::string out =
      absl::StrCat("SEXTANT ", HealthStatusText(status), " - ", PlainText(Summary(report, status)),
                   data.empty() ? "" : " | ", data, "\n");
  for (const InputProblem& problem : report.problems) {
    absl::StrAppend(&out, Line("",
                               absl::StrCat(problem.source, ": ", HealthStatusText(problem.status),
                                            ", ", problem.reason),
                               2));
  }
  // Some programs that show it cut it short, so what is wrong comes first.
  for (const bool ok : {false, true}) {
    for (const DeviceVerdict& device : report.devices) {
      if ((device.status == HealthStatus::kOk) == ok) absl::StrAppend(&out, DeviceText(device));
    }
  }
  if (report.devices.size() == 1) absl::StrAppend(&out, FiguresText(report.devices[0]));
  for (const std::string& note : report.notes) absl::StrAppend(&out, Line("- ", note, 2));
  return out;
}

std::string ReportJson(const CheckReport& report) {
  using google::protobuf::util::TimeUtil;
  const HealthStatus status = StatusOf(report);
  const auto checked = TimeUtil::SecondsToTimestamp(report.now_unix_seconds);
  return Object({{"status", Quoted(HealthStatusText(status))},
                 {"exitCode", absl::StrCat(static_cast<int>(status))},
                 {"checkedTime", Quoted(TimeUtil::ToString(checked))},
                 {"devices", Array(report.devices, DeviceJson)},
                 {"problems", Array(report.problems, ProblemJson)},
                 {"notes", Array(report.notes, Quoted)}}) +
         "\n";
}

}  // namespace sextant::probe
