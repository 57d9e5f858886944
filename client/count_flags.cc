#include "client/count_flags.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
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
    {"--virtual-stage-count,--vpp,--virtual-stages", "layout.virtual_stage_count",
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

constexpr FieldFlag kChunksFlag = {"--layers-per-chunk", "layout.layers_per_chunk", ""};

// Read otherwise than by their field's type alone.
constexpr FieldFlag kOtherFlags[] = {
    {"--sequence", "step.sequences", ""},  kChunksFlag,
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

// The flag of a field that a text names by its path or by its last name; the name itself where it
// has none. A name without "_" is an ordinary word.
std::string FlagOf(absl::string_view name) {
  std::vector<FieldFlag> flags = CountFlags();
  flags.push_back(kChunksFlag);
  for (const FieldFlag& flag : flags) {
    const bool named = name == flag.field || absl::EndsWith(flag.field, absl::StrCat(".", name));
    if (named && absl::StrContains(name, "_")) return ShortName(flag);
  }
  return std::string(name);
}

bool IsOfAName(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

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

std::string CountDescriptionWords(const std::string& text) {
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = static_cast<size_t>(absl::c_find_if_not(rest, IsOfAName) - rest.begin());
    const absl::string_view name = absl::StripSuffix(rest.substr(0, length), ".");
    const std::string flag = FlagOf(name);
    out += flag;
    rest.remove_prefix(name.size());
    // "vocabulary_multiple 1024" is written with "=" on the command line.
    const bool has_value =
        flag != name && rest.size() > 1 && rest[0] == ' ' && absl::ascii_isdigit(rest[1]);
    if (has_value) out += '=';
    if (!has_value && !rest.empty()) out += rest.front();
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return out;
}

}  // namespace sextant
