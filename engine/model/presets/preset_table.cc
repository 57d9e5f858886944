#include "engine/model/presets/preset_table.h"

#include <utility>

#include "engine/model/config/read_config.h"

namespace sextant {

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
    // A row that can't be read is the program's own mistake, and ends it: every test would.
    out.push_back({.name = row.name,
                   .source = row.source.empty() ? table.source : row.source,
                   .architecture = std::move(model).value().architecture});
  }
}

}  // namespace sextant
