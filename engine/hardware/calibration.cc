#include "engine/hardware/calibration.h"

#include "absl/strings/str_cat.h"
#include "engine/base/utc_text.h"

namespace sextant {
namespace {

// Below this share of an unstable rate, what is stable is another, slower kind of multiplication.
constexpr double kStableShareOfFastest = 0.9;

bool IsBetter(const MeasuredMatmul& x, const MeasuredMatmul& y) {
  if (x.sustained != y.sustained) return x.sustained;
  return IsBetterRate({.rate = x.rate, .stable = x.stable}, {.rate = y.rate, .stable = y.stable});
}

// A single sample has no spread.
std::string SamplesText(const MeasuredMatmul& m) {
  if (m.sample_count == 1) return "a single sample";
  return absl::StrCat("median of ", m.sample_count, " samples, relative spread ",
                      m.relative_spread);
}

}  // namespace

bool IsBetterRate(const RateSeen& x, const RateSeen& y) {
  if (x.stable == y.stable) return x.rate > y.rate;
  const bool stable_holds = x.stable ? x.rate >= y.rate * kStableShareOfFastest
                                     : y.rate >= x.rate * kStableShareOfFastest;
  return x.stable == stable_holds;
}

void DeviceCalibration::Consider(const MeasuredMatmul& matmul) {
  for (MeasuredMatmul& kept : matmuls) {
    if (kept.data_type != matmul.data_type) continue;
    if (IsBetter(matmul, kept)) kept = matmul;
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
