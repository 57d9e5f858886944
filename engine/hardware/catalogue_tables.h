// The catalogue's rows in the units that vendors print, so that a row can be compared with a
// datasheet; catalogue.cc converts them.
#ifndef SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_
#define SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/accelerator.h"

namespace sextant {

namespace datasheet {

constexpr Figure Table(double printed) { return {printed, FigureSource::kTable, true}; }
constexpr Figure Rounded(double printed) { return {printed, FigureSource::kRoundedTable, true}; }
constexpr Figure Recall(double printed) { return {printed, FigureSource::kRecall, true}; }

}  // namespace datasheet

// Absent figures are left out of a row. Rates are dense.
struct DatasheetRow {
  absl::string_view name;
  absl::string_view product_name;
  absl::string_view vendor;
  absl::string_view architecture = "";
  absl::string_view form_factor = "";
  Figure memory_gb = {};  // 1e9 bytes
  absl::string_view memory_type = "";
  Figure bandwidth_gb = {};  // 1e9 bytes a second
  Figure fp64 = {};          // 1e12 FLOP/s, like the nine below; int8 in 1e12 operations a second
  Figure fp64_matrix = {};
  Figure fp32 = {};
  Figure fp32_matrix = {};  // where the matrix units take fp32 and differ (CDNA2)
  Figure tf32 = {};
  Figure fp16 = {};
  Figure bf16 = {};
  Figure fp8 = {};
  Figure int8 = {};
  bool int8_on_general_units = false;  // Volta: its tensor cores take only fp16
  Figure fp6 = {};
  Figure fp4 = {};
  absl::string_view link_type = "";
  Figure link_gb = {};       // 1e9 bytes a second, one direction
  Figure link_both_gb = {};  // the same, both directions summed
  Figure pcie = {};          // generation
  Figure cache_mb = {};      // 2^20 bytes
  Figure units = {};
  Figure boost_mhz = {};  // 1e6 Hz
  Figure tdp = {};        // W
  absl::string_view table_source = "";
  absl::string_view notes = "";
};

absl::Span<const DatasheetRow> NvidiaTable();
absl::Span<const DatasheetRow> OtherVendorsTable();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_
