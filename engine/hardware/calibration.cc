#include "engine/hardware/calibration.h"

#include "absl/strings/str_cat.h"
#include "engine/base/utc_text.h"

namespace sextant {
namespace {

using Matmuls = absl::InlinedVector<MeasuredMatmul, 3>;

// A rate below this share of another is not the same one but for noise.
constexpr double kShareOfFastest = 0.9;

bool IsBetter(const MeasuredMatmul& x, const MeasuredMatmul& y) {
  if (x.sustained != y.sustained) return x.sustained;
  return IsBetterRate({.rate = x.rate, .stable = x.stable}, {.rate = y.rate, .stable = y.stable});
}

// Keeps `matmul` unless `kept` has a better one of its type.
void Keep(const MeasuredMatmul& matmul, Matmuls& kept) {
  for (MeasuredMatmul& held : kept) {
    if (held.data_type != matmul.data_type) continue;
    if (IsBetter(matmul, held)) held = matmul;
    return;
  }
  kept.push_back(matmul);
}

const MeasuredMatmul* Find(const Matmuls& matmuls, DataType type) {
  for (const MeasuredMatmul& matmul : matmuls) {
    if (matmul.data_type == type) return &matmul;
  }
  return nullptr;
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
  const bool stable_holds =
      x.stable ? x.rate >= y.rate * kShareOfFastest : y.rate >= x.rate * kShareOfFastest;
  return x.stable == stable_holds;
}

void DeviceCalibration::Consider(const MeasuredMatmul& matmul) {
  Keep(matmul, matmuls);
  if (matmul.stable && !matmul.sustained) Keep(matmul, stable_bursts);
}

const MeasuredMatmul* DeviceCalibration::MatmulIn(DataType type) const {
  return Find(matmuls, type);
}

const MeasuredMatmul* DeviceCalibration::FasterBurstIn(DataType type) const {
  const MeasuredMatmul* used = MatmulIn(type);
  const MeasuredMatmul* burst = Find(stable_bursts, type);
  if (used == nullptr || burst == nullptr || used->stable || !used->sustained) return nullptr;
  return used->rate < burst->rate * kShareOfFastest ? burst : nullptr;
}

std::string CitationOf(const DeviceCalibration& c, const MeasuredMatmul& m) {
  return absl::StrCat(m.sustained ? "sustained" : "best", " matmul ", m.m, "x", m.n, "x", m.k,
                      " by ", m.engine, ", ", SamplesText(m), "; measured ",
                      UtcText(c.measured_unix_seconds), " by ", c.probe_version);
}

}  // namespace sextant
