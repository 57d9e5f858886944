#include "client/kernel_chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/enum_names.h"
#include "client/format.h"

namespace sextant {
namespace {

bool IsAboveZero(double value) { return std::isfinite(value) && value > 0; }

bool CanBeDrawn(const v1::KernelCurvePoint& point) {
  return point.size() > 0 && IsAboveZero(point.flops_per_second()) &&
         IsAboveZero(point.expected_seconds()) && IsAboveZero(point.low_seconds()) &&
         IsAboveZero(point.high_seconds());
}

// What a share of 1 is, in FLOP/s.
double WholeOf(const v1::KernelCurve& curve, bool of_peak) {
  if (of_peak) return curve.peak_flops_per_second();
  double best = 0;
  for (const v1::KernelCurvePoint& point : curve.points()) {
    if (CanBeDrawn(point)) best = std::max(best, point.flops_per_second());
  }
  return best;
}

KernelChartLine LineOf(const v1::KernelCurve& curve, bool of_peak) {
  KernelChartLine out;
  out.name = EnumName(*v1::DataType_descriptor(), curve.data_type());
  const double whole = WholeOf(curve, of_peak);
  if (!IsAboveZero(whole)) return out;
  for (const v1::KernelCurvePoint& point : curve.points()) {
    if (!CanBeDrawn(point)) continue;
    const double share = point.flops_per_second() / whole;
    out.points.push_back({.size = static_cast<double>(point.size()),
                          .share = share,
                          .low = share * point.expected_seconds() / point.high_seconds(),
                          .high = share * point.expected_seconds() / point.low_seconds()});
  }
  return out;
}

std::string SourceOf(const v1::KernelCurve& curve) {
  return absl::StrCat(EnumName(*v1::DataType_descriptor(), curve.data_type()), ": ",
                      EnumName(*v1::RateSource_descriptor(), curve.source()), ", ",
                      curve.citation());
}

// Whole powers of ten around all sizes, and half a step more.
void SetAxes(KernelChart& chart) {
  double low = chart.lines.front().points.front().size;
  double high = low;
  double top = 0;
  for (const KernelChartLine& line : chart.lines) {
    for (const KernelChartPoint& point : line.points) {
      low = std::min(low, point.size);
      high = std::max(high, point.size);
      top = std::max({top, point.share, point.high});
    }
  }
  chart.size = {.low = std::log10(low) - 0.05, .high = std::log10(high) + 0.05};
  chart.top = std::clamp(std::ceil(5 * top) / 5, 0.2, 2.0);  // round ticks
  chart.tick = chart.top <= 0.4 ? 0.1 : 0.2;
}

KernelChart ChartOf(const v1::GetKernelRatesResponse& response, v1::KernelKind kind) {
  bool of_peak = true;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() != kind) continue;
    of_peak = of_peak && IsAboveZero(curve.peak_flops_per_second());
  }
  KernelChart out = {
      .title = absl::StrCat(response.device(), ": ", KernelKindName(kind)),
      .size_label = KernelSizeName(kind),
      .share_label = of_peak ? "of the datasheet's dense peak" : "of the fastest size"};
  for (const v1::KernelCurve& curve : response.curves()) {
    if (curve.kind() != kind) continue;
    KernelChartLine line = LineOf(curve, of_peak);
    if (line.points.size() < 2) continue;
    line.letter = static_cast<char>('A' + out.lines.size() % 26);
    out.lines.push_back(std::move(line));
    out.sources.push_back(SourceOf(curve));
  }
  if (!out.lines.empty()) SetAxes(out);
  return out;
}

}  // namespace

std::string KernelChart::ShareLabel(double share) const {
  if (scale == ChartScale::kShare) return absl::StrCat(std::lround(100 * share), " %");
  return absl::StrCat(share);
}

std::string KernelChart::SizeLabel(double power) const {
  if (scale == ChartScale::kShare) return Grouped(static_cast<int64_t>(power));
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (power >= 1024 && unit + 1 < std::size(kUnits)) {
    power /= 1024;
    ++unit;
  }
  return absl::StrCat(power, " ", kUnits[unit]);
}

std::vector<KernelChart> KernelChartsOf(const v1::GetKernelRatesResponse& response) {
  std::vector<v1::KernelKind> kinds;
  for (const v1::KernelCurve& curve : response.curves()) {
    if (std::find(kinds.begin(), kinds.end(), curve.kind()) == kinds.end()) {
      kinds.push_back(curve.kind());
    }
  }
  std::vector<KernelChart> out;
  for (const v1::KernelKind kind : kinds) {
    KernelChart chart = ChartOf(response, kind);
    if (!chart.lines.empty()) out.push_back(std::move(chart));
  }
  return out;
}

std::string KernelKindName(v1::KernelKind kind) {
  return absl::StrReplaceAll(EnumName(*v1::KernelKind_descriptor(), kind), {{"-", " "}});
}

std::string KernelSizeName(v1::KernelKind kind) {
  switch (kind) {
    case v1::KERNEL_KIND_SQUARE_MATMUL:
      return "n of n x n x n";
    case v1::KERNEL_KIND_TOKEN_MATMUL:
      return "tokens m of m x 4096 x 4096";
    case v1::KERNEL_KIND_CAUSAL_ATTENTION:
      return "tokens of a sequence, 32 heads of 128";
    default:
      return "size";
  }
}

}  // namespace sextant
