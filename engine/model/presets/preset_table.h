// The tables of ModelPresets(): each row holds the fields of a model's published config.json, and
// is read like a user's. Private to engine/model/presets.
#ifndef SEXTANT_ENGINE_MODEL_PRESETS_PRESET_TABLE_H_
#define SEXTANT_ENGINE_MODEL_PRESETS_PRESET_TABLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/config/config_fields.h"
#include "engine/model/presets/presets.h"

namespace sextant {

// The values of a table's columns, in their order; 0 omits a field.
struct PresetRow {
  absl::string_view name;
  std::array<int64_t, 9> values;
  absl::string_view source = "";  // empty: the table's
};

// Models that share `fields` and differ in `columns`.
struct PresetTable {
  absl::string_view source;
  absl::Span<const ConfigField> fields;
  absl::Span<const absl::string_view> columns;
  absl::Span<const PresetRow> rows;
};

// The sources of several tables.
inline constexpr absl::string_view kConfigSource =
    "public config.json, from memory, fixed by the published count";
inline constexpr absl::string_view kLitgptSource =
    "Lightning-AI/litgpt litgpt/config.py @0006c973aa7d, shape fields; tied or not: from "
    "memory, fixed by the published count";

// The columns of most tables.
inline constexpr absl::string_view kSizes[] = {"num_hidden_layers", "hidden_size",
                                               "intermediate_size", "num_attention_heads"};
inline constexpr absl::string_view kGroupedSizes[] = {"num_hidden_layers", "hidden_size",
                                                      "intermediate_size", "num_attention_heads",
                                                      "num_key_value_heads"};

// All the fields of `row`.
ConfigFields FieldsOf(const PresetTable& table, const PresetRow& row);

// Appends the models of `table` to `out`. ReadConfig() can read all of its rows.
void AddPresets(const PresetTable& table, std::vector<ModelPreset>& out);

absl::Span<const PresetTable> GptTables();
absl::Span<const PresetTable> LlamaTables();
absl::Span<const PresetTable> LlamaKinTables();
absl::Span<const PresetTable> OtherTables();
absl::Span<const PresetTable> MixtureTables();
absl::Span<const PresetTable> GroupedTables();
absl::Span<const PresetTable> MixerTables();
absl::Span<const PresetTable> EncoderTables();

// GPT-3 XL as printed in its paper, which no family's config.json can express.
ModelPreset Gpt3Xl();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_PRESETS_PRESET_TABLE_H_
