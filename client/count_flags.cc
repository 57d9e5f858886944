#include "client/count_flags.h"

#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/format.h"
#include "client/plan_flags.h"

namespace sextant {
namespace {

constexpr FieldFlag kFlags[] = {
    {"--recompute", "step.recompute", "what the backward pass computes again", kStepGroup},
    {"--expert-capacity-factor", "step.expert_capacity_factor",
     "slots of the experts over tokens routed, e.g. 1.25", kStepGroup},

    {"--tensor-parallel-size,--tp", "layout.tensor_parallel_size", "ranks that share a matrix",
     kLayoutGroup},
    {"--pipeline-parallel-size,--pp", "layout.pipeline_parallel_size", "stages of layers",
     kLayoutGroup},
    {"--virtual-stage-count,--virtual-stages", "layout.virtual_stage_count",
     "chunks of layers on each stage", kLayoutGroup},
    {"--expert-parallel-size,--ep", "layout.expert_parallel_size",
     "ranks that the experts are dealt out to", kLayoutGroup},
    {"--expert-tensor-parallel-size,--etp", "layout.expert_tensor_parallel_size",
     "ranks that share an expert; default: --tp", kLayoutGroup},
    {"--split-key-value-heads", "layout.split_key_value_heads",
     "--tp above the heads of keys: part them, don't copy", kLayoutGroup},
};

constexpr char kArchitecture[] = "model.architecture";
constexpr char kConfig[] = "model.hugging_face_config";

// Read otherwise than by their field's type alone.
constexpr FieldFlag kOtherFlags[] = {
    {"--sequence", "step.sequences", ""},  {"--layers-per-chunk", "layout.layers_per_chunk", ""},
    {"--architecture", kArchitecture, ""}, {"MODEL", kConfig, ""},
    {"MODEL", "model.preset", ""},
};

// The place behind a flag's own field: "[1].expert_count" is ", entry 2 (expert count)".
std::string PlaceWords(absl::string_view rest) {
  std::string out;
  int64_t index = 0;
  const size_t end = rest.find(']');
  if (absl::StartsWith(rest, "[") && end != absl::string_view::npos &&
      absl::SimpleAtoi(rest.substr(1, end - 1), &index)) {
    out = absl::StrCat(", entry ", index + 1);
    rest.remove_prefix(end + 1);
  }
  absl::ConsumePrefix(&rest, ".");
  return rest.empty() ? out : absl::StrCat(out, " (", Words(rest), ")");
}

// Absent where `field` is neither the flag's nor below it.
std::optional<std::string> WordsOf(const FieldFlag& flag, absl::string_view field) {
  if (!absl::ConsumePrefix(&field, flag.field)) return std::nullopt;
  if (!field.empty() && field.front() != '.' && field.front() != '[') return std::nullopt;
  // What a file holds has the file's own names.
  if (absl::string_view(flag.field) == kArchitecture || absl::string_view(flag.field) == kConfig) {
    absl::ConsumePrefix(&field, ".");
    return absl::StrCat(flag.names, field.empty() ? "" : ": ", field);
  }
  return absl::StrCat(ShortName(flag), PlaceWords(field));
}

}  // namespace

std::vector<FieldFlag> CountFlags() {
  std::vector<FieldFlag> flags(std::begin(kFlags), std::end(kFlags));
  for (const PlanFlag& flag : PlanFlags()) {
    if (!absl::StartsWith(flag.field, "model.changes.")) continue;
    flags.push_back({flag.names, flag.field, flag.help, flag.group});
  }
  return flags;
}

std::string CountFieldWords(const std::string& field) {
  if (field == "model") return "MODEL";
  for (const FieldFlag& flag : CountFlags()) {
    if (const auto words = WordsOf(flag, field)) return *words;
  }
  for (const FieldFlag& flag : kOtherFlags) {
    if (const auto words = WordsOf(flag, field)) return *words;
  }
  return field;
}

}  // namespace sextant
