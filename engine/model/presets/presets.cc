#include "engine/model/presets/presets.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/near_names.h"
#include "engine/base/reason.h"
#include "engine/model/config/read_config.h"
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

constexpr size_t kMaxNameBytes = 200;

using Index = absl::flat_hash_map<std::string, const ModelPreset*>;

// By ComparableName(), and by the names as they are.
const Index& IndexByName() {
  static const Index* const index = [] {
    auto* out = new Index;
    for (const ModelPreset& preset : ModelPresets()) {
      out->emplace(preset.name, &preset);
      out->emplace(ComparableName(preset.name), &preset);
    }
    return out;
  }();
  return *index;
}

struct Repository {
  absl::string_view name;  // ComparableName() of what is left of a repository's name
  absl::string_view preset;
};

// Repositories of Hugging Face whose names, without the words that ShapeName() drops, are not the
// preset's. Source: the organisations' lists of models, from memory.
constexpr Repository kRepositories[] = {
    {"ai21jambamini1.5", "jamba-v0.1"},
    {"ai21jambamini1.6", "jamba-v0.1"},
    {"ai21jambamini1.7", "jamba-v0.1"},
    {"bloom", "bloom-176b"},
    {"c4aicommandrv01", "command-r"},
    {"c4aicommandrplus", "command-r-plus"},
    {"dotsllm1base", "dots.llm1"},
    {"dotsllm1inst", "dots.llm1"},
    {"glm4.32b", "glm-4-32b-0414"},
    {"gptj6b", "gpt-j-6b"},
    {"llama4maverick17b128e", "llama-4-maverick"},
    {"llama4scout17b16e", "llama-4-scout"},
    {"minimaxm1.40k", "minimax-text-01"},
    {"minimaxm1.80k", "minimax-text-01"},
    {"mambacodestral7bv0.1", "codestral-mamba-7b"},
    {"mistrallarge", "mistral-large-2"},
    {"mistralnemo", "mistral-nemo-12b"},
    {"nemotronh56b8k", "nemotron-h-56b"},
    {"nemotronh8b8k", "nemotron-h-8b"},
    {"nvidianemotron3nano30ba3bbf16", "nemotron-3-nano-30b-a3b"},
    {"phi3medium4k", "phi-3-medium"},
    {"qwen1.5moea2.7b", "qwen1.5-moe-a2.7b"},
    {"tinyllama1.1bv1.0", "tinyllama-1.1b"},
    {"codellama7bpython", "codellama-7b"},
    {"codellama13bpython", "codellama-13b"},
    {"codellama34bpython", "codellama-34b"},
    {"codellama70bpython", "codellama-70b"},
    {"deepseekr1distillllama8b", "llama-3.1-8b"},
    {"deepseekr1distillllama70b", "llama-3.3-70b"},
    {"deepseekr1distillqwen7b", "qwen2.5-7b"},
    {"deepseekr1distillqwen14b", "qwen2.5-14b"},
    {"deepseekr1distillqwen32b", "qwen2.5-32b"},
    {"internlm2.5.1.8b", "internlm2-1.8b"},
    {"internlm2.5.7b", "internlm2-7b"},
    {"internlm2.5.20b", "internlm2-20b"},
    {"qwen3next80ba3bthinking", "qwen3-next-80b-a3b"},
    {"qwen2.5coder0.5b", "qwen2.5-0.5b"},
    {"qwen2.5coder1.5b", "qwen2.5-1.5b"},
    {"qwen2.5coder3b", "qwen2.5-3b"},
    {"qwen2.5coder7b", "qwen2.5-7b"},
    {"qwen2.5coder14b", "qwen2.5-14b"},
    {"qwen2.5coder32b", "qwen2.5-32b"},
    {"qwen2.5math1.5b", "qwen2.5-1.5b"},
    {"qwen2.5math7b", "qwen2.5-7b"},
    {"qwen2.5math72b", "qwen2.5-72b"},
    {"vicuna7bv1.3", "llama-7b"},
    {"vicuna13bv1.3", "llama-13b"},
    {"vicuna33bv1.3", "llama-33b"},
    {"vicuna7bv1.5", "llama-2-7b"},
    {"vicuna13bv1.5", "llama-2-13b"},
    {"yi1.5.6b", "yi-6b"},
    {"yi1.5.9b", "yi-9b"},
    {"yi1.5.34b", "yi-34b"},
    {"zephyr7balpha", "mistral-7b-v0.1"},
    {"zephyr7bbeta", "mistral-7b-v0.1"},
};

bool IsReleaseDate(absl::string_view word) {
  return word.size() == 4 && absl::c_all_of(word, absl::ascii_isdigit);
}

// `name` without its organisation and the words that don't change a shape; comparable.
std::string ShapeName(absl::string_view name) {
  constexpr absl::string_view kDropped[] = {"base", "chat",     "deduped", "hf",
                                            "it",   "instruct", "meta",    "pt"};
  std::vector<std::string> kept;
  for (const absl::string_view word :
       absl::StrSplit(name, absl::ByAnyChar("-_: "), absl::SkipEmpty())) {
    const std::string lower = absl::AsciiStrToLower(word);
    if (!absl::c_linear_search(kDropped, lower) && !IsReleaseDate(lower)) kept.push_back(lower);
  }
  return ComparableName(absl::StrJoin(kept, "-"));
}

const ModelPreset* FindIndexed(absl::string_view name) {
  const auto found = IndexByName().find(name);
  return found == IndexByName().end() ? nullptr : found->second;
}

const ModelPreset* FindRepository(absl::string_view name) {
  const std::string shape = ShapeName(name);
  const auto row =
      absl::c_find_if(kRepositories, [&shape](const Repository& r) { return r.name == shape; });
  return FindIndexed(row == std::end(kRepositories) ? shape : ComparableName(row->preset));
}

absl::Status UnknownModel(absl::string_view name) {
  static const NearNameIndex& names = *[] {
    std::vector<KnownName> all;
    for (const ModelPreset& preset : ModelPresets()) all.push_back({preset.name});
    return new NearNameIndex(all);
  }();
  return WithReason(UnknownNameError("model", name, names, "docs/models.md"), "MODEL_UNKNOWN");
}

}  // namespace

ConfigFields FieldsOf(const PresetTable& table, const PresetRow& row) {
  ConfigFields out;
  for (const ConfigField& field : table.fields) SetField(field, out);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (row.values[i] != 0) SetField({table.columns[i], row.values[i]}, out);
  }
  return out;
}

void AddPresets(const PresetTable& table, std::vector<ModelPreset>& out) {
  for (const PresetRow& row : table.rows) {
    auto model = ReadConfig(FieldsOf(table, row), row.name);
    // An unreadable row is a bug in this program and ends it: every test would fail.
    out.push_back({.name = row.name,
                   .source = row.source.empty() ? table.source : row.source,
                   .architecture = std::move(model).value().architecture});
  }
}

// Never destroyed, like the index below: a server may still answer during exit.
const std::vector<ModelPreset>& ModelPresets() {
  static const std::vector<ModelPreset>& presets = *[] {
    auto* out = new std::vector<ModelPreset>;
    for (const absl::Span<const PresetTable> tables :
         {GptTables(), LlamaTables(), LlamaKinTables(), OtherTables(), MixtureTables(),
          GroupedTables(), MixerTables(), EncoderTables()}) {
      for (const PresetTable& table : tables) AddPresets(table, *out);
    }
    out->push_back(Gpt3Xl());
    for (ModelPreset& preset : *out) {
      preset.checked = CheckedModel::Of(preset.architecture, preset.name).value();
    }
    return out;
  }();
  return presets;
}

absl::StatusOr<const ModelPreset*> FindModelPreset(absl::string_view name) {
  if (const ModelPreset* found = FindIndexed(name)) return found;
  if (const ModelPreset* found = FindIndexed(ComparableName(name))) return found;
  absl::string_view model = name.substr(0, kMaxNameBytes);
  model.remove_prefix(model.rfind('/') + 1);  // npos + 1 is 0
  if (const ModelPreset* found = FindIndexed(ComparableName(model))) return found;
  if (const ModelPreset* found = FindRepository(model)) return found;
  return UnknownModel(name);
}

absl::StatusOr<std::vector<const ModelPreset*>> ModelPresetsLike(absl::string_view pattern) {
  std::vector<std::string> words;
  for (const absl::string_view word :
       absl::StrSplit(pattern.substr(0, kMaxNameBytes), ' ', absl::SkipWhitespace())) {
    words.push_back(ComparableName(word));
  }
  std::vector<const ModelPreset*> out;
  for (const ModelPreset& preset : ModelPresets()) {
    const std::string name = ComparableName(preset.name);
    const bool matches = absl::c_all_of(
        words, [&name](const std::string& word) { return absl::StrContains(name, word); });
    if (matches) out.push_back(&preset);
  }
  if (out.empty()) return UnknownModel(pattern);
  return out;
}

}  // namespace sextant
