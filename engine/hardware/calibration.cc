#include "engine/hardware/calibration.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

using Matmuls = absl::InlinedVector<MeasuredMatmul, 3>;

// Rates at or above this share of another count as equal up to noise.
constexpr double kShareOfFastest = 0.9;

// As kStableHalvesRatio of gpu_probe/statistics.h.
constexpr double kMaxDrift = 0.03;

bool IsBetter(const MeasuredMatmul& x, const MeasuredMatmul& y) {
  if (x.sustained != y.sustained) return x.sustained;
  return IsBetterRate({x.rate.value(), x.stable}, {y.rate.value(), y.stable});
}

// Keeps `matmul` unless `kept` has a better one of the same type.
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

void Keep(const MeasuredPass& pass, absl::optional<MeasuredPass>& kept) {
  if (!kept.has_value() ||
      IsBetterRate({pass.per_second, pass.stable}, {kept->per_second, kept->stable})) {
    kept = pass;
  }
}

// A single sample has no spread.
std::string SamplesText(int64_t count, double relative_spread) {
  if (count == 1) return "a single sample";
  return absl::StrCat("median of ", count, " samples, relative spread ", relative_spread);
}

std::string MeasuredText(const DeviceCalibration& c) {
  return absl::StrCat("; measured ", UtcText(c.measured_unix_seconds), " by ", c.probe_version);
}

}  // namespace

bool IsBetterRate(const RateSeen& x, const RateSeen& y) {
  if (x.stable == y.stable) return x.rate > y.rate;
  const bool stable_holds =
      x.stable ? x.rate >= y.rate * kShareOfFastest : y.rate >= x.rate * kShareOfFastest;
  return x.stable == stable_holds;
}

void DeviceCalibration::KeepIfBetter(const MeasuredMatmul& matmul) {
  Keep(matmul, matmuls);
  if (matmul.sustained) return;
  Keep(matmul, bursts);
  if (matmul.stable) Keep(matmul, stable_bursts);
}

void DeviceCalibration::ConsiderPass(StreamPattern pattern, const MeasuredPass& pass) {
  Keep(pass, memory_passes[static_cast<size_t>(pattern)]);
}

void DeviceCalibration::ConsiderElementwise(const MeasuredPass& pass) { Keep(pass, elementwise); }

const MeasuredMatmul* DeviceCalibration::MatmulIn(DataType type) const {
  return Find(matmuls, type);
}

const MeasuredMatmul* DeviceCalibration::BurstIn(DataType type) const { return Find(bursts, type); }

const MeasuredMatmul* DeviceCalibration::FasterBurstIn(DataType type) const {
  const MeasuredMatmul* used = MatmulIn(type);
  const MeasuredMatmul* burst = Find(stable_bursts, type);
  if (used == nullptr || burst == nullptr || used->stable || !used->sustained) return nullptr;
  return used->rate < burst->rate * kShareOfFastest ? burst : nullptr;
}

bool DeviceCalibration::IsStable() const {
  const MeasuredMatmul* usual = nullptr;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    if (usual == nullptr) usual = BurstIn(type);
  }
  const MeasuredMatmul* const fp8 = BurstIn(DataType::kFp8E4m3);
  return usual != nullptr && usual->stable && (fp8 == nullptr || fp8->stable) &&
         memory_copy().has_value() && memory_copy()->stable;
}

bool DeviceCalibration::HasFewStablePoints() const { return 2 * stable_point_count < point_count; }

bool DeviceCalibration::HasDrifted() const {
  return drift_ratio.has_value() && std::abs(*drift_ratio) > kMaxDrift;
}

std::string CitationOf(const DeviceCalibration& c, const MeasuredMatmul& m) {
  if (m.m == 0) {
    return absl::StrCat(m.sustained ? "sustained" : "best", " matmul rate",
                        m.engine.empty() ? "" : ", ", m.engine, MeasuredText(c));
  }
  return absl::StrCat(m.sustained ? "sustained" : "best", " matmul ", m.m, "x", m.n, "x", m.k,
                      " by ", m.engine, ", ", SamplesText(m.sample_count, m.relative_spread),
                      MeasuredText(c));
}

std::string CitationOf(const DeviceCalibration& c, const MeasuredPass& p) {
  const std::string what = p.multiply_adds == 0
                               ? absl::StrCat("copy of ", p.array_bytes, " bytes in main memory")
                               : absl::StrCat(p.multiply_adds, " fp32 multiply-adds an element of ",
                                              p.array_bytes, " bytes");
  if (p.sample_count == 0) return absl::StrCat("copy in main memory", MeasuredText(c));
  return absl::StrCat(what, ", ", SamplesText(p.sample_count, p.relative_spread), MeasuredText(c));
}

}  // namespace sextant
