#include "client/report/count_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/io/message_file.h"
#include "client/report/lines.h"
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

// "32", or "0/32" where none of them is trained.
std::string LayersText(const v1::ModelTensor& tensor) {
  std::string layers = Grouped(tensor.layer_count());
  if (tensor.trainable_layer_count() == tensor.layer_count()) return layers;
  return absl::StrCat(Grouped(tensor.trainable_layer_count()), "/", layers);
}

// Parameters by component; active and trained ones get columns where they differ from the total.
std::string ParameterComponents(const v1::ParameterCounts& parameters) {
  if (parameters.components().empty()) return "";
  // The parts, and all.
  std::vector<v1::ParameterCounts::Component> rows(parameters.components().begin(),
                                                   parameters.components().end());
  v1::ParameterCounts::Component& all = rows.emplace_back();
  all.set_name("all");
  all.set_parameter_count(parameters.total());
  all.set_active_parameter_count(parameters.active());
  all.set_trainable_parameter_count(parameters.trainable());
  using Part = v1::ParameterCounts::Component;
  const Table table = TableOf<Part>(
      {{"component (* embedding)",
        [](const Part& p) { return absl::StrCat(Words(p.name()), p.embedding() ? " *" : ""); }},
       {">parameters", [](const Part& p) { return Grouped(p.parameter_count()); }},
       {">share", [&](const Part& p) { return ShareOf(p.parameter_count(), parameters.total()); }},
       {">active", [](const Part& p) { return Grouped(p.active_parameter_count()); }, nullptr,
        HasInactive(parameters)},
       {">trained", [](const Part& p) { return Grouped(p.trainable_parameter_count()); }, nullptr,
        HasFrozen(parameters)}},
      rows);
  return absl::StrCat("\nParameters\n", table.Text());
}

std::string LayerKindsSection(const google::protobuf::RepeatedPtrField<v1::LayerKindCount>& kinds) {
  if (kinds.empty()) return "";
  const bool inactive = absl::c_any_of(kinds, [](const v1::LayerKindCount& kind) {
    return kind.active_parameters_per_layer() != kind.parameters_per_layer();
  });
  using Kind = v1::LayerKindCount;
  const Table table = TableOf<Kind>(
      {{"part", [](const Kind& k) { return Words(k.part()); }},
       {"kind", [](const Kind& k) { return k.layer_kind(); }},
       {">layers", [](const Kind& k) { return Grouped(k.layer_count()); }},
       {">all of them", [](const Kind& k) { return Grouped(k.parameter_count()); }},
       {">each", [](const Kind& k) { return Grouped(k.parameters_per_layer()); }},
       {">each, active", [](const Kind& k) { return Grouped(k.active_parameters_per_layer()); },
        nullptr, inactive}},
      kinds);
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
  using Stage = v1::StageParameters;
  int64_t most = 0;
  for (const Stage& stage : stages) most = std::max(most, stage.parameter_count());
  const auto figure = [&stages](int64_t (Stage::*of)() const) {
    return [&stages, of](const CountedRun& run) { return Grouped((stages[run.first].*of)()); };
  };
  const bool frozen = absl::c_any_of(
      stages, [](const Stage& s) { return s.trainable_parameter_count() != s.parameter_count(); });
  const auto mark = [&](const CountedRun& run) {
    return runs.size() > 1 && stages[run.first].parameter_count() == most ? "<- the most" : "";
  };
  const Table table =
      TableOf<CountedRun>({{"stage", [&](const CountedRun& run) { return RunName(stages, run); }},
                           {">layers", figure(&Stage::layer_count)},
                           {">parameters", figure(&Stage::parameter_count)},
                           {">trained", figure(&Stage::trainable_parameter_count), nullptr, frozen},
                           {">in experts", figure(&Stage::expert_parameter_count), "0"},
                           {">copies", figure(&Stage::repeated_parameter_count), "0"},
                           {"", mark}},
                          runs);
  return absl::StrCat("\nStages: what each GPU holds\n", table.Text());
}

std::string TotalsSection(const google::protobuf::RepeatedPtrField<v1::PublishedTotal>& totals) {
  if (totals.size() < 2) return "";
  Table table = Titled({">parameters", "total", "as in the files of"});
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
  Table table = Titled({">parameters", ">layers", ">copies", "shape", "tensor"});
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
      ParametersHeadline(response.model_name(), response.parameters()), Paragraph(left_out),
      Paragraph(unread), ParameterComponents(response.parameters()),
      LayerKindsSection(response.layer_kinds()), TotalsSection(response.totals()));
  if (response.has_flops()) {
    absl::StrAppend(&out, ModelFlopsSection(response.flops(), HasTwoStacks(response)));
    if (sections.conventions) absl::StrAppend(&out, ConventionsSection(response.flops()));
    if (sections.kaplan) absl::StrAppend(&out, KaplanSection(response.flops()));
  } else if (sections.conventions) {
    absl::StrAppend(&out, "\nFLOPs depend on how long sequences are: add --sequence=LENGTH\n");
  }
  return absl::StrCat(out, StagesSection(response.stages()), TensorsSection(response.tensors()),
                      ArchitectureSection(response),
                      IgnoredFieldsSection(response.ignored_config_fields()),
                      EngineLine(response.engine_version()));
}

}  // namespace sextant::client
