#include "engine/hardware/reference/reference_matmuls.h"

#include <cstddef>
#include <deque>

#include "engine/base/lazy.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

constexpr double kMicrosecond = 1e-6;

std::vector<MatmulPoint> MeasuredIn(absl::Span<const ReferenceMatmulRow> rows, size_t column) {
  std::vector<MatmulPoint> out;
  for (const ReferenceMatmulRow& row : rows) {
    const double time = row.microseconds[column];
    if (time > 0) out.push_back({{row.m, row.n, row.k}, Seconds(time * kMicrosecond)});
  }
  return out;
}

MatmulCalibration CalibrationOf(const ReferenceMatmulTable& table, size_t column) {
  MatmulCalibration out;
  out.type = MatmulTypeNamed(table.columns[column].type);
  if (const Accelerator* accelerator = AcceleratorNamed(table.accelerator)) {
    if (accelerator->compute_unit_count) {
      out.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    }
    const DatasheetValue peak = PeakFlopsPerSecond(*accelerator, out.type.data_type);
    if (peak) out.peak = FlopsPerSecond(peak.value);
  }
  out.points = MeasuredIn(table.points, column);
  out.checks = MeasuredIn(table.checks, column);
  return out;
}

// One column of one table.
struct Entry {
  ReferenceMatmulKey key;
  ReferenceMatmulTable table;
  size_t column;
  absl::Span<const MatmulModelFit> fits;  // of the table's columns
  Lazy<MatmulModel> model;
};

// A deque, since entries can't move.
void AppendEntries(const ReferenceMatmulTable& table, absl::Span<const MatmulModelFit> fits,
                   std::deque<Entry>& out) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    Entry& entry = out.emplace_back();
    entry.key = {table.accelerator, MatmulTypeNamed(table.columns[i].type),
                 table.columns[i].library};
    entry.table = table;
    entry.column = i;
    entry.fits = fits;
  }
}

std::deque<Entry>& Entries() {
  static std::deque<Entry>* const entries = [] {
    auto* out = new std::deque<Entry>;
    AppendEntries(A100Sxm80Matmuls(), A100Sxm80MatmulFits(), *out);
    AppendEntries(B200SxmMatmuls(), B200SxmMatmulFits(), *out);
    AppendEntries(H100SxmMatmuls(), H100SxmMatmulFits(), *out);
    AppendEntries(H200SxmMatmuls(), H200SxmMatmulFits(), *out);
    return out;
  }();
  return *entries;
}

Entry* Find(absl::string_view accelerator, MatmulType type) {
  for (Entry& entry : Entries()) {
    if (entry.key.accelerator == accelerator && entry.key.type == type) return &entry;
  }
  return nullptr;
}

}  // namespace

std::vector<ReferenceMatmulKey> ReferenceMatmulKeys() {
  std::vector<ReferenceMatmulKey> out;
  for (const Entry& entry : Entries()) out.push_back(entry.key);
  return out;
}

absl::optional<MatmulCalibration> ReferenceMatmulCalibration(absl::string_view accelerator,
                                                             MatmulType type) {
  const Entry* entry = Find(accelerator, type);
  if (entry == nullptr) return absl::nullopt;
  return CalibrationOf(entry->table, entry->column);
}

const MatmulModel* ReferenceMatmuls(absl::string_view accelerator, MatmulType type) {
  Entry* entry = Find(accelerator, type);
  if (entry == nullptr) return nullptr;
  return &entry->model.Get([entry] {
    return MatmulModel::Of(*ReferenceMatmulCalibration(entry->key.accelerator, entry->key.type),
                           entry->fits[entry->column]);
  });
}

}  // namespace sextant
