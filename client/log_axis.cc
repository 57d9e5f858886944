#include "client/log_axis.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr const char* kAxisPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};  // powers of 1000
constexpr int kPrefixedPowers = 21;                                                // 10^0 to 10^20

// Between a point and the edge, so that no mark is cut.
constexpr double kAxisMargin = 1.6;

// How much of the slope is shown below the ridge, at least.
constexpr double kSlope = 50;

LogAxis AxisAround(double smallest, double largest) {
  return {.low = std::log10(smallest / kAxisMargin), .high = std::log10(largest * kAxisMargin)};
}

}  // namespace

double LogAxis::Fraction(double value) const { return (std::log10(value) - low) / (high - low); }

double LogAxis::ValueAt(double fraction) const {
  return std::pow(10.0, low + fraction * (high - low));
}

std::vector<int> LogAxis::Ticks(int most) const {
  const int first = static_cast<int>(std::ceil(low));
  const int last = static_cast<int>(std::floor(high));
  const int step = std::max(1, (last - first + most - 2) / (most - 1));
  std::vector<int> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(power);
  return ticks;
}

ChartAxes AxesOf(const RooflineChart& chart) {
  double smallest = chart.ridge / kSlope;
  double largest = chart.ridge * 10;
  double slowest = chart.roofs[0].flops_per_second;
  double fastest = slowest;
  for (const Roof& roof : chart.roofs) {
    smallest = std::min(smallest, roof.flops_per_second / chart.memory_bytes_per_second);
    largest = std::max(largest, roof.flops_per_second / chart.memory_bytes_per_second);
    fastest = std::max(fastest, roof.flops_per_second);
  }
  for (const ChartPoint& point : chart.points) {
    smallest = std::min(smallest, point.intensity);
    largest = std::max(largest, point.intensity);
    slowest = std::min(slowest, point.flops_per_second);
    fastest = std::max(fastest, point.flops_per_second);
  }
  ChartAxes axes;
  axes.intensity = AxisAround(smallest, largest);
  slowest = std::min(slowest, chart.memory_bytes_per_second * smallest);
  axes.flops_per_second = AxisAround(slowest, fastest);
  return axes;
}

std::string PowerText(int exponent) {
  if (exponent >= kPrefixedPowers || exponent < -3) return absl::StrCat("1e", exponent);
  if (exponent < 0)
    return absl::StrCat("0.", std::string(static_cast<size_t>(-exponent - 1), '0'), 1);
  return absl::StrCat("1", std::string(static_cast<size_t>(exponent % 3), '0'),
                      kAxisPrefixes[exponent / 3]);
}

}  // namespace sextant
