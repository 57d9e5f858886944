#include "client/stage_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

using Stages = google::protobuf::RepeatedPtrField<v1::StageParameters>;

// Neighbours that hold as much, by their indices.
struct StageRun {
  int first;
  int last;
};

bool Alike(const v1::StageParameters& a, const v1::StageParameters& b) {
  return a.layer_count() == b.layer_count() && a.parameter_count() == b.parameter_count() &&
         a.trainable_parameter_count() == b.trainable_parameter_count() &&
         a.expert_parameter_count() == b.expert_parameter_count() &&
         a.repeated_parameter_count() == b.repeated_parameter_count();
}

std::vector<StageRun> RunsOf(const Stages& stages) {
  std::vector<StageRun> runs;
  for (int i = 0; i < stages.size(); ++i) {
    if (runs.empty() || !Alike(stages[i - 1], stages[i])) {
      runs.push_back({i, i});
    } else {
      runs.back().last = i;
    }
  }
  return runs;
}

// "3", or "1-6".
std::string RunName(const Stages& stages, const StageRun& run) {
  const std::string first = absl::StrCat(stages[run.first].stage());
  return run.first == run.last ? first : absl::StrCat(first, "-", stages[run.last].stage());
}

struct StageColumn {
  const char* title;
  int64_t (*of)(const v1::StageParameters& stage);
};

constexpr StageColumn kLayers = {"layers",
                                 [](const v1::StageParameters& s) { return s.layer_count(); }};
constexpr StageColumn kParameters = {
    "parameters", [](const v1::StageParameters& s) { return s.parameter_count(); }};
constexpr StageColumn kTrained = {
    "trained", [](const v1::StageParameters& s) { return s.trainable_parameter_count(); }};
constexpr StageColumn kExperts = {
    "in experts", [](const v1::StageParameters& s) { return s.expert_parameter_count(); }};
constexpr StageColumn kCopies = {
    "copies", [](const v1::StageParameters& s) { return s.repeated_parameter_count(); }};

// Those that say something of these stages.
std::vector<StageColumn> ColumnsOf(const Stages& stages) {
  std::vector<StageColumn> columns = {kLayers, kParameters};
  const auto any = [&stages](const auto& holds) { return absl::c_any_of(stages, holds); };
  if (any([](const auto& s) { return s.trainable_parameter_count() != s.parameter_count(); })) {
    columns.push_back(kTrained);
  }
  if (any([](const auto& s) { return s.expert_parameter_count() > 0; })) {
    columns.push_back(kExperts);
  }
  if (any([](const auto& s) { return s.repeated_parameter_count() > 0; })) {
    columns.push_back(kCopies);
  }
  return columns;
}

}  // namespace

std::string StagesSection(const Stages& stages) {
  if (stages.empty()) return "";
  const std::vector<StageRun> runs = RunsOf(stages);
  const std::vector<StageColumn> columns = ColumnsOf(stages);
  int64_t most = 0;
  for (const v1::StageParameters& stage : stages) most = std::max(most, stage.parameter_count());
  std::vector<Align> aligned(columns.size() + 2, Align::kRight);
  aligned.front() = aligned.back() = Align::kLeft;
  Table table(2, std::move(aligned));
  std::vector<std::string> titles = {"stage"};
  for (const StageColumn& column : columns) titles.emplace_back(column.title);
  table.AddRow(std::move(titles));
  for (const StageRun& run : runs) {
    const v1::StageParameters& stage = stages[run.first];
    std::vector<std::string> cells = {RunName(stages, run)};
    for (const StageColumn& column : columns) cells.push_back(Grouped(column.of(stage)));
    const bool marked = runs.size() > 1 && stage.parameter_count() == most;
    cells.emplace_back(marked ? "<- the most" : "");
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("\nStages: what each GPU holds\n", table.Text());
}

}  // namespace sextant
