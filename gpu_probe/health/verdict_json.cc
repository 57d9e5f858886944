#include "gpu_probe/health/verdict_json.h"

#include <google/protobuf/util/time_util.h>

#include <cmath>

#include "gpu_probe/enum_text.h"
#include "gpu_probe/health/json_writer.h"

namespace sextant {
namespace {

using google::protobuf::util::TimeUtil;

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
  if (figure.alarm_below > 0) json->Key("critical_below").Number(figure.alarm_below);
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
  json->Key("product_name").String(device.product_name());
  if (!device.hostname().empty()) json->Key("hostname").String(device.hostname());
  if (device.has_power_limit_watts()) {
    json->Key("power_limit_watts").Number(device.power_limit_watts());
  }
  json->Key("mode").String(EnumText(verdict.mode));
  json->Key("measured_time").String(TimeUtil::ToString(verdict.measured_time));
  json->Key("age_seconds").Number(verdict.age_seconds);
  json->Key("history_count").Whole(verdict.history_count);
  json->Key("peer_count").Whole(verdict.peer_count);
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

std::string ReportJson(const CheckReport& report) {
  const HealthStatus status = StatusOf(report);
  JsonWriter json;
  json.BeginObject();
  json.Key("status").String(HealthStatusText(status));
  json.Key("exit_code").Whole(static_cast<int>(status));
  json.Key("checked_time")
      .String(TimeUtil::ToString(TimeUtil::SecondsToTimestamp(report.now_unix_seconds)));
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

}  // namespace sextant
