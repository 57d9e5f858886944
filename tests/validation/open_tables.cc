// Rows that lack a field, and rows whose source contradicts itself.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/validation/contradictions.h"
#include "tests/validation/report_tables.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

// A run's request and figure.
struct Run {
  std::string source;
  std::string id;
  v1::PlanRunRequest request;
  Bytes measured = Bytes(0);
};

std::vector<Run> MeasuredRuns(const Answers& answers) {
  std::vector<Run> out;
  for (const Answer& answer : answers.answered) {
    const MeasuredCase& run = answer.run;
    if (run.measured.empty()) continue;
    out.push_back({run.source, run.id, run.all_fields, run.measured.front().size});
  }
  for (const OpenAnswer& answer : answers.open) {
    const OpenCase& run = answer.run;
    if (!run.measured.has_value()) continue;
    out.push_back({run.source, run.id, run.requests.front(), *run.measured});
  }
  return out;
}

// All of a run but the number of its GPUs and the sharding among them.
std::string SettingWithoutGpus(const Run& run) {
  v1::PlanRunRequest request = run.request;
  request.clear_cluster();
  request.mutable_layout()->clear_global_batch_size();
  request.mutable_layout()->clear_sharding();
  request.mutable_layout()->clear_framework();
  return absl::StrCat(run.source, " ", run.measured.value(), " ", request.SerializeAsString());
}

// Runs with equal figures of which only some shard their weights.
std::map<std::string, std::set<std::string>> UnmovedBySharding(const Answers& answers) {
  std::map<std::string, std::vector<Run>> groups;
  for (Run& run : MeasuredRuns(answers)) groups[SettingWithoutGpus(run)].push_back(std::move(run));
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [setting, group] : groups) {
    std::set<v1::ZeroStage> stages;
    for (const Run& run : group) stages.insert(run.request.layout().sharding().zero_stage());
    if (stages.size() < 2 || stages.count(v1::ZERO_STAGE_PARAMETERS) == 0) continue;
    for (const Run& run : group) out[run.source].insert(run.id);
  }
  return out;
}

void AppendLine(const std::string& source, const std::set<std::string>& ids,
                const std::string& contradiction, std::string& out) {
  absl::StrAppend(&out, "- ", source, ", ", contradiction, ": ", absl::StrJoin(ids, "; "), "\n");
}

}  // namespace

std::string OpenTable(const std::vector<OpenAnswer>& open) {
  std::string out =
      "| source | row | open | lowest, GiB | highest, GiB | measured GiB | inside |\n"
      "| --- | --- | --- | ---: | ---: | ---: | --- |\n";
  for (const OpenAnswer& answer : open) {
    const OpenCase& run = answer.run;
    absl::StrAppend(&out, "| ", run.source, " | ", run.id, " | ", run.open, " | ",
                    Gibibytes(answer.low), " | ", Gibibytes(answer.high), " | ",
                    run.measured.has_value() ? Gibibytes(*run.measured) : "ran out", " | ",
                    answer.inside() ? "yes" : "no", " |\n");
  }
  return out;
}

std::string ContradictionList(const Answers& answers) {
  std::map<std::string, std::set<std::string>> repeated;
  for (const Answer& answer : answers.answered) {
    if (answer.run.traits.count(kContradicted) > 0) {
      repeated[answer.run.source].insert(answer.run.id);
    }
  }
  std::map<std::string, std::set<std::string>> columns;
  for (const RowLeftOut& row : answers.left_out) {
    if (row.reason == kSelfContradicting) columns[row.source].insert(row.id);
  }
  std::string out;
  for (const auto& [source, ids] : repeated) {
    AppendLine(source, ids, "equal questions with figures more than 10 % apart", out);
  }
  for (const auto& [source, ids] : UnmovedBySharding(answers)) {
    AppendLine(source, ids, "the same figure with and without shards", out);
  }
  for (const auto& [source, ids] : columns) AppendLine(source, ids, kSelfContradicting, out);
  return out;
}

}  // namespace sextant
