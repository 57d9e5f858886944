#include "client/memory_chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/format.h"
#include "client/memory_stages.h"

namespace sextant {
namespace {

constexpr double kBytesOfGib = 1073741824.0;  // 2^30
constexpr double kMostTicks = 8;

double GibOf(int64_t bytes) { return static_cast<double>(bytes) / kBytesOfGib; }

MemoryBar BarOf(const v1::MemoryEstimate& estimate, const StageRun& run) {
  const v1::StageMemory& stage = estimate.stages(run.first);
  MemoryBar bar = {.name = StageRunName(estimate, run),
                   .sizes = {},
                   .total = GibOf(stage.total_bytes()),
                   .low = GibOf(stage.process_bytes().low()),
                   .high = GibOf(stage.process_bytes().high()),
                   .stages_left_out_before = run.left_out_before,
                   .peak = HoldsThePeak(estimate, run)};
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    bar.sizes[i] = GibOf(BytesOf(stage, kMemoryKinds[i].kind));
  }
  return bar;
}

// 1, 2 or 5 times a power of ten, so that there are not too many up to `end`.
double TickStep(double end) {
  const double power = std::pow(10.0, std::floor(std::log10(end / kMostTicks)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (end / (step * power) <= kMostTicks) return step * power;
  }
  return 10 * power;
}

}  // namespace

MemoryChart MemoryChartOf(const v1::MemoryEstimate& estimate) {
  MemoryChart chart;
  chart.usable = GibOf(estimate.usable_bytes());
  double most = chart.usable;
  for (const StageRun& run : ShownStageRuns(estimate)) {
    chart.bars.push_back(BarOf(estimate, run));
    most = std::max({most, chart.bars.back().total, chart.bars.back().high});
  }
  chart.end = most > 0 ? most : 1;
  if (most > chart.usable) chart.end *= 1.02;  // room behind the longest
  const double step = TickStep(chart.end);
  for (int i = 0; i * step <= chart.end; ++i) chart.ticks.push_back(i * step);
  return chart;
}

std::string GibNumber(int64_t bytes) { return Grouped(GibOf(bytes), 2); }

std::string IntervalText(const v1::BytesInterval& interval) {
  return absl::StrCat(GibNumber(interval.expected()), " GiB (", GibNumber(interval.low()), " to ",
                      GibNumber(interval.high()), ")");
}

std::string TickText(double gib) {
  return gib >= 1000 ? Grouped(gib, 0) : absl::StrFormat("%g", gib);
}

}  // namespace sextant
