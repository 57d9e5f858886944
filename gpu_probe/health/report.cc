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

// Writes one JSON value, keys in the order of the calls. Key() only in objects; what is begun has
// to be ended. Used because protobuf's Struct would reorder the keys, and nlohmann's JSON would
// write numbers with fewer digits than this format has always had.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(absl::string_view name) {
    absl::StrAppend(&text_, comma_ ? "," : "", Quoted(name), ":");
    comma_ = false;
    return *this;
  }
  JsonWriter& String(absl::string_view value) { return Value(Quoted(value)); }
  // `value` is finite.
  JsonWriter& Number(double value) { return Value(absl::StrFormat("%.17g", value)); }
  JsonWriter& Whole(int64_t value) { return Value(absl::StrCat(value)); }
  JsonWriter& Bool(bool value) { return Value(value ? "true" : "false"); }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Open(char bracket) {
    if (comma_) text_ += ',';
    text_ += bracket;
    comma_ = false;
    return *this;
  }
  JsonWriter& Close(char bracket) {
    text_ += bracket;
    comma_ = true;
    return *this;
  }
  JsonWriter& Value(absl::string_view value) {
    absl::StrAppend(&text_, comma_ ? "," : "", value);
    comma_ = true;
    return *this;
  }

  std::string text_;
  bool comma_ = false;  // before the next key or value
};

void WriteHistory(const FigureVerdict& figure, JsonWriter* json) {
  if (!figure.history.has_value()) return;
  json->Key("history").BeginObject();
  json->Key("ratio").Number(std::exp(-figure.history->log_deficit));
  json->Key("doubt").Number(figure.history->doubt);
  json->Key("count").Whole(figure.history->count);
  json->EndObject();
}

void WritePeers(const char* key, const absl::optional<PeerReference>& peers, JsonWriter* json) {
  if (!peers.has_value()) return;
  json->Key(key).BeginObject();
  json->Key("ratio").Number(std::exp(-peers->log_deficit));
  json->Key("doubt").Number(peers->doubt);
  json->Key("z").Number(peers->z);
  json->Key("count").Whole(peers->count);
  json->EndObject();
}

void WriteFigure(const FigureVerdict& figure, JsonWriter* json) {
  json->BeginObject();
  json->Key("figure").String(figure.name);
  json->Key("unit").String(figure.unit);
  json->Key("value").Number(figure.value);
  json->Key("stable").Bool(figure.stable);
  if (figure.warning_below > 0) json->Key("warningBelow").Number(figure.warning_below);
  if (figure.critical_below > 0) json->Key("criticalBelow").Number(figure.critical_below);
  WriteHistory(figure, json);
  WritePeers("peers", figure.peers, json);
  json->EndObject();
}

void WriteFinding(const Finding& finding, JsonWriter* json) {
  json->BeginObject();
  json->Key("status").String(HealthStatusText(finding.status));
  json->Key("rule").String(finding.rule);
  if (!finding.figure.empty()) json->Key("figure").String(finding.figure);
  if (!finding.unit.empty()) json->Key("unit").String(finding.unit);
  if (finding.value > 0) json->Key("value").Number(finding.value);
  if (finding.reference > 0) json->Key("reference").Number(finding.reference);
  if (finding.ratio > 0) json->Key("ratio").Number(finding.ratio);
  json->Key("message").String(finding.message);
  json->EndObject();
}

void WriteNotes(const std::vector<std::string>& notes, JsonWriter* json) {
  json->Key("notes").BeginArray();
  for (const std::string& note : notes) json->String(note);
  json->EndArray();
}

void WriteDevice(const DeviceVerdict& verdict, JsonWriter* json) {
  const v1::Device& device = verdict.device;
  json->BeginObject();
  json->Key("uuid").String(device.uuid());
  json->Key("status").String(HealthStatusText(verdict.status));
  json->Key("productName").String(device.product_name());
  if (!device.hostname().empty()) json->Key("hostname").String(device.hostname());
  if (device.has_power_limit_watts()) {
    json->Key("powerLimitWatts").Number(device.power_limit_watts());
  }
  json->Key("mode").String(text::EnumLabel(verdict.mode));
  json->Key("measuredTime")
      .String(google::protobuf::util::TimeUtil::ToString(verdict.measured_time));
  json->Key("ageSeconds").Number(verdict.age_seconds);
  json->Key("historyCount").Whole(verdict.history_count);
  json->Key("peerCount").Whole(verdict.peer_count);
  WritePeers("overall", verdict.overall, json);
  json->Key("figures").BeginArray();
  for (const FigureVerdict& figure : verdict.figures) WriteFigure(figure, json);
  json->EndArray().Key("findings").BeginArray();
  for (const Finding& finding : verdict.findings) WriteFinding(finding, json);
  json->EndArray();
  WriteNotes(verdict.notes, json);
  json->EndObject();
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
  const HealthStatus status = StatusOf(report);
  JsonWriter json;
  json.BeginObject();
  json.Key("status").String(HealthStatusText(status));
  json.Key("exitCode").Whole(static_cast<int>(status));
  json.Key("checkedTime")
      .String(google::protobuf::util::TimeUtil::ToString(
          google::protobuf::util::TimeUtil::SecondsToTimestamp(report.now_unix_seconds)));
  json.Key("devices").BeginArray();
  for (const DeviceVerdict& device : report.devices) WriteDevice(device, &json);
  json.EndArray().Key("problems").BeginArray();
  for (const InputProblem& problem : report.problems) {
    json.BeginObject();
    json.Key("status").String(HealthStatusText(problem.status));
    json.Key("source").String(problem.source);
    json.Key("reason").String(problem.reason);
    json.EndObject();
  }
  json.EndArray();
  WriteNotes(report.notes, &json);
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace sextant::probe
