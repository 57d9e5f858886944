#include "engine/model/presets/presets.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "engine/base/near_names.h"
#include "engine/base/reason.h"
#include "engine/model/config/read_config.h"
#include "engine/model/presets/preset_table.h"

namespace sextant {
namespace {

using Index = absl::flat_hash_map<std::string, const ModelPreset*>;

const Index& IndexByComparableName() {
  static const Index* const index = [] {
    auto* out = new Index;
    for (const ModelPreset& preset : ModelPresets()) {
      out->emplace(ComparableName(preset.name), &preset);
    }
    return out;
  }();
  return *index;
}

absl::Status UnknownModel(absl::string_view name) {
  std::vector<KnownName> names;
  for (const ModelPreset& preset : ModelPresets()) names.push_back({preset.name});
  return WithReason(absl::NotFoundError(UnknownNameMessage("model", name, names, "docs/models.md")),
                    "MODEL_UNKNOWN");
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
         {GptTables(), LlamaTables(), QwenTables(), GoogleTables(), MicrosoftTables(), OpenTables(),
          OtherTables(), MixtureTables(), LatentTables(), EncoderTables()}) {
      for (const PresetTable& table : tables) AddPresets(table, *out);
    }
    out->push_back(Gpt3Xl());
    return out;
  }();
  return presets;
}

absl::StatusOr<const ModelPreset*> FindModelPreset(absl::string_view name) {
  const Index& index = IndexByComparableName();
  const auto found = index.find(ComparableName(name));
  return found != index.end() ? absl::StatusOr<const ModelPreset*>(found->second)
                              : UnknownModel(name);
}

}  // namespace sextant
