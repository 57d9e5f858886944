#include "engine/hardware/calibration.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "engine/base/utc_text.h"

namespace sextant {
namespace {

auto Preference(const MeasuredMatmul& m) {
  return std::make_tuple(m.sustained, m.stable, m.rate.value());
}

// A single sample has no spread.
std::string SamplesText(const MeasuredMatmul& m) {
  if (m.sample_count == 1) return "a single sample";
  return absl::StrCat("median of ", m.sample_count, " samples, relative spread ",
                      m.relative_spread);
}

}  // namespace

void DeviceCalibration::Consider(const MeasuredMatmul& matmul) {
  for (MeasuredMatmul& kept : matmuls) {
    if (kept.data_type != matmul.data_type) continue;
    if (Preference(matmul) > Preference(kept)) kept = matmul;
    return;
  }
  matmuls.push_back(matmul);
}

const MeasuredMatmul* DeviceCalibration::MatmulIn(DataType type) const {
  for (const MeasuredMatmul& matmul : matmuls) {
    if (matmul.data_type == type) return &matmul;
  }
  return nullptr;
}

std::string CitationOf(const DeviceCalibration& c, const MeasuredMatmul& m) {
  return absl::StrCat(m.sustained ? "sustained" : "best", " matmul ", m.m, "x", m.n, "x", m.k,
                      " by ", m.engine, ", ", SamplesText(m), "; measured ",
                      UtcText(c.measured_unix_seconds), " by ", c.probe_version);
}

}  // namespace sextant
