// The catalogue's rows in the units that vendors print, so that a row can be compared with a
// datasheet; catalogue.cc converts them.
#ifndef SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_
#define SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/accelerator.h"

namespace sextant {

namespace datasheet {

constexpr DatasheetValue Table(double printed) { return {printed, FigureSource::kTable, true}; }
constexpr DatasheetValue Rounded(double printed) {
  return {printed, FigureSource::kRoundedTable, true};
}
constexpr DatasheetValue Recall(double printed) { return {printed, FigureSource::kRecall, true}; }
constexpr DatasheetValue Reported(double printed) { return {printed, FigureSource::kDriver, true}; }

}  // namespace datasheet

// Absent figures are left out of a row. Rates are dense.
struct DatasheetRow {
  absl::string_view name;
  absl::string_view product_name;
  absl::string_view vendor;
  absl::string_view architecture = "";
  absl::string_view form_factor = "";
  DatasheetValue memory_gb = {};  // 1e9 bytes
  absl::string_view memory_type = "";
  DatasheetValue bandwidth_gb = {};  // 1e9 bytes a second
  DatasheetValue fp64 = {};  // 1e12 FLOP/s, like the nine below; int8 in 1e12 operations a second
  DatasheetValue fp64_matrix = {};
  DatasheetValue fp32 = {};
  DatasheetValue fp32_matrix = {};  // where the matrix units take fp32 and differ (CDNA2)
  DatasheetValue tf32 = {};
  DatasheetValue fp16 = {};
  DatasheetValue bf16 = {};
  DatasheetValue fp8 = {};
  DatasheetValue int8 = {};
  bool int8_on_general_units = false;  // Volta: its tensor cores take only fp16
  DatasheetValue fp6 = {};
  DatasheetValue fp4 = {};
  absl::string_view link_type = "";
  DatasheetValue link_gb = {};       // 1e9 bytes a second, one direction
  DatasheetValue link_both_gb = {};  // the same, both directions summed
  DatasheetValue pcie = {};          // generation
  DatasheetValue cache_mb = {};      // 2^20 bytes
  DatasheetValue units = {};
  DatasheetValue boost_mhz = {};  // 1e6 Hz
  DatasheetValue tdp = {};        // W
  absl::string_view table_source = "";
  absl::string_view notes = "";
};

// Memory of a product as its driver reports it, in MiB (2^20 bytes), as nvidia-smi prints it.
struct DriverMemoryRow {
  absl::string_view name;  // the catalogue's
  DatasheetValue reported_mib = {};
  DatasheetValue reserved_mib = {};  // part of reported_mib
  absl::string_view source = "";
};

absl::Span<const DatasheetRow> NvidiaTable();
absl::Span<const DatasheetRow> OtherVendorsTable();
absl::Span<const DriverMemoryRow> DriverMemoryTable();

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CATALOGUE_TABLES_H_
