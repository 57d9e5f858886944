#include "client/report/count_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/io/message_file.h"
#include "client/report/model_flops_text.h"
#include "client/report/rates_text.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string ShareOf(int64_t part, int64_t total) {
  return total == 0 ? "" : Percent(static_cast<double>(part) / static_cast<double>(total));
}

bool HasInactive(const v1::ParameterCounts& p) { return p.has_active() && p.active() != p.total(); }

bool HasFrozen(const v1::ParameterCounts& p) {
  return p.has_trainable() && p.trainable() != p.total();
}

std::string EmbeddingText(const v1::ParameterCounts& parameters) {
  const std::string padding =
      parameters.padding() == 0
          ? ""
          : absl::StrCat(", ", Grouped(parameters.padding()), " of them padding of the vocabulary");
  return absl::StrCat(Grouped(parameters.embedding()), " in embeddings (",
                      ShareOf(parameters.embedding(), parameters.total()), padding, "), ",
                      Grouped(parameters.non_embedding()), " elsewhere");
}

// Totals are published with these layers and without.
std::string MultiTokenPredictionLine(const v1::ParameterCounts& parameters) {
  if (!parameters.has_multi_token_prediction()) return "";
  const int64_t count = parameters.multi_token_prediction();
  return Wrap("  ",
              absl::StrCat("of all, ", Grouped(count), " are for multi-token prediction; ",
                           Grouped(parameters.total() - count), " without"),
              2);
}

// The share that is trained. A few untrained parameters would vanish in a rounded share.
std::string TrainedText(const v1::ParameterCounts& parameters) {
  const std::string share = ShareOf(parameters.trainable(), parameters.total());
  if (share == Percent(1)) {
    return absl::StrCat("all but ", Grouped(parameters.total() - parameters.trainable()),
                        " trained");
  }
  return absl::StrCat(Grouped(parameters.trainable()), " trained (", share, ")");
}

// The cells of a row of components; cells without a column are left out.
struct ComponentRow {
  std::string name;
  int64_t total;
  int64_t active;
  int64_t trainable;
};

std::vector<std::string> CellsOf(const ComponentRow& row, const v1::ParameterCounts& all) {
  std::vector<std::string> cells = {row.name, Grouped(row.total), ShareOf(row.total, all.total())};
  if (HasInactive(all)) cells.push_back(Grouped(row.active));
  if (HasFrozen(all)) cells.push_back(Grouped(row.trainable));
  return cells;
}

// "32", or "0/32" where none of them is trained.
std::string LayersText(const v1::ModelTensor& tensor) {
  std::string layers = Grouped(tensor.layer_count());
  if (tensor.trainable_layer_count() == tensor.layer_count()) return layers;
  return absl::StrCat(Grouped(tensor.trainable_layer_count()), "/", layers);
}

// Parameters by component; active and trained ones get columns where they differ from the total.
std::string ParameterComponents(const v1::ParameterCounts& parameters) {
  if (parameters.components().empty()) return "";
  std::vector<std::string> titles = {"component (* embedding)", "parameters", "share"};
  if (HasInactive(parameters)) titles.emplace_back("active");
  if (HasFrozen(parameters)) titles.emplace_back("trained");
  std::vector<Align> aligned(titles.size(), Align::kRight);
  aligned.front() = Align::kLeft;
  Table table(2, std::move(aligned));
  table.AddRow(std::move(titles));
  for (const v1::ParameterCounts::Component& part : parameters.components()) {
    table.AddRow(CellsOf({.name = absl::StrCat(Words(part.name()), part.embedding() ? " *" : ""),
                          .total = part.parameter_count(),
                          .active = part.active_parameter_count(),
                          .trainable = part.trainable_parameter_count()},
                         parameters));
  }
  table.AddRow(CellsOf({.name = "all",
                        .total = parameters.total(),
                        .active = parameters.active(),
                        .trainable = parameters.trainable()},
                       parameters));
  return absl::StrCat("\nParameters\n", table.Text());
}

std::string LayerKindsSection(const google::protobuf::RepeatedPtrField<v1::LayerKindCount>& kinds) {
  if (kinds.empty()) return "";
  const bool inactive = absl::c_any_of(kinds, [](const v1::LayerKindCount& kind) {
    return kind.active_parameters_per_layer() != kind.parameters_per_layer();
  });
  std::vector<Align> aligned(inactive ? 6 : 5, Align::kRight);
  aligned[0] = aligned[1] = Align::kLeft;
  Table table(2, std::move(aligned));
  std::vector<std::string> titles = {"part", "kind", "layers", "all of them", "each"};
  if (inactive) titles.emplace_back("each, active");
  table.AddRow(std::move(titles));
  for (const v1::LayerKindCount& kind : kinds) {
    std::vector<std::string> cells = {Words(kind.part()), kind.layer_kind(),
                                      Grouped(kind.layer_count()), Grouped(kind.parameter_count()),
                                      Grouped(kind.parameters_per_layer())};
    if (inactive) cells.push_back(Grouped(kind.active_parameters_per_layer()));
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("\nLayers and their parameters\n", table.Text());
}

using Stages = google::protobuf::RepeatedPtrField<v1::StageParameters>;

// Neighbours that hold the same, by their indices.
struct CountedRun {
  int first;
  int last;
};

bool Alike(const v1::StageParameters& a, const v1::StageParameters& b) {
  return a.layer_count() == b.layer_count() && a.parameter_count() == b.parameter_count() &&
         a.trainable_parameter_count() == b.trainable_parameter_count() &&
         a.expert_parameter_count() == b.expert_parameter_count() &&
         a.repeated_parameter_count() == b.repeated_parameter_count();
}

std::vector<CountedRun> RunsOf(const Stages& stages) {
  std::vector<CountedRun> runs;
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
std::string RunName(const Stages& stages, const CountedRun& run) {
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

// The columns that have a value in some of these stages.
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

bool HasTwoStacks(const v1::CountModelResponse& response) {
  const auto has = [&response](const char* part) {
    return absl::c_any_of(response.layer_kinds(),
                          [part](const v1::LayerKindCount& kind) { return kind.part() == part; });
  };
  return has("encoder") && has("decoder");
}

std::string ArchitectureSection(const v1::CountModelResponse& response) {
  if (!response.has_architecture()) return "";
  return absl::StrCat("\nArchitecture, for --architecture=FILE\n",
                      ProtoJson(response.architecture()));
}

}  // namespace

std::string ParametersHeadline(const std::string& model, const v1::ParameterCounts& parameters) {
  std::string text = absl::StrCat(OneLine(model), ": ", Grouped(parameters.total()), " parameters");
  if (HasInactive(parameters)) {
    absl::StrAppend(&text, ", ", Grouped(parameters.active()), " active (",
                    ShareOf(parameters.active(), parameters.total()), ")");
  }
  if (HasFrozen(parameters)) absl::StrAppend(&text, ", ", TrainedText(parameters));
  return absl::StrCat(Wrap("", text, 2), MultiTokenPredictionLine(parameters),
                      Wrap("  ", EmbeddingText(parameters), 2));
}

std::string StagesSection(const Stages& stages) {
  if (stages.empty()) return "";
  const std::vector<CountedRun> runs = RunsOf(stages);
  const std::vector<StageColumn> columns = ColumnsOf(stages);
  int64_t most = 0;
  for (const v1::StageParameters& stage : stages) most = std::max(most, stage.parameter_count());
  std::vector<Align> aligned(columns.size() + 2, Align::kRight);
  aligned.front() = aligned.back() = Align::kLeft;
  Table table(2, std::move(aligned));
  std::vector<std::string> titles = {"stage"};
  for (const StageColumn& column : columns) titles.emplace_back(column.title);
  table.AddRow(std::move(titles));
  for (const CountedRun& run : runs) {
    const v1::StageParameters& stage = stages[run.first];
    std::vector<std::string> cells = {RunName(stages, run)};
    for (const StageColumn& column : columns) cells.push_back(Grouped(column.of(stage)));
    const bool marked = runs.size() > 1 && stage.parameter_count() == most;
    cells.emplace_back(marked ? "<- the most" : "");
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("\nStages: what each GPU holds\n", table.Text());
}

std::string TotalsSection(const google::protobuf::RepeatedPtrField<v1::PublishedTotal>& totals) {
  if (totals.size() < 2) return "";
  Table table(2, {Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"parameters", "total", "as in the files of"});
  for (const v1::PublishedTotal& total : totals) {
    table.AddRow({Grouped(total.parameter_count()),
                  absl::StrCat(Words(total.name()), ": ", total.definition()), total.example()});
  }
  return absl::StrCat("\nTotals, as they may be published\n", table.Text());
}

// Parts of a multimodal model that are left out.
std::string TextModelWords(const v1::CountModelResponse& response) {
  if (response.text_model_field().empty()) return "";
  return absl::StrCat("the text model (", OneLine(response.text_model_field()),
                      ") alone: other parts, such as a vision tower, are left out",
                      response.has_vision_parameter_count()
                          ? absl::StrCat("; the tower has ",
                                         Grouped(response.vision_parameter_count()), " parameters")
                          : "");
}

std::string TensorsSection(const google::protobuf::RepeatedPtrField<v1::ModelTensor>& tensors) {
  if (tensors.empty()) return "";
  // The name is last: it may take more than a line.
  Table table(2, {Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"parameters", "layers", "copies", "shape", "tensor"});
  for (const v1::ModelTensor& tensor : tensors) {
    table.AddRow({Grouped(tensor.parameter_count()), LayersText(tensor), Grouped(tensor.copies()),
                  absl::StrJoin(tensor.shape(), "x"), tensor.name()});
  }
  const bool frozen = absl::c_any_of(tensors, [](const v1::ModelTensor& t) {
    return t.trainable_layer_count() != t.layer_count();
  });
  return absl::StrCat(frozen ? "\nTensors (0/32: none of 32 layers' is trained)\n" : "\nTensors\n",
                      table.Text());
}

std::string CountText(const CountSections& sections, const v1::CountModelResponse& response) {
  const std::string left_out = TextModelWords(response);
  const std::string unread = UnreadFieldsWords(response.unread_config_fields());
  std::string out = absl::StrCat(
      ParametersHeadline(response.model_name(), response.parameters()),
      left_out.empty() ? "" : Wrap("  ", left_out, 2), unread.empty() ? "" : Wrap("  ", unread, 2),
      ParameterComponents(response.parameters()), LayerKindsSection(response.layer_kinds()),
      TotalsSection(response.totals()));
  if (response.has_flops()) {
    absl::StrAppend(&out, ModelFlopsSection(response.flops(), HasTwoStacks(response)));
    if (sections.conventions) absl::StrAppend(&out, ConventionsSection(response.flops()));
    if (sections.kaplan) absl::StrAppend(&out, KaplanSection(response.flops()));
  }
  return absl::StrCat(out, StagesSection(response.stages()), TensorsSection(response.tensors()),
                      ArchitectureSection(response),
                      IgnoredFieldsSection(response.ignored_config_fields()), "\n",
                      Wrap("", absl::StrCat("engine ", response.engine_version()), 0));
}

}  // namespace sextant::client
