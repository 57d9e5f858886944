#include "client/plot/plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant::client {
namespace {

constexpr double kMaxLinearTicks = 8;

double LinearTickStep(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span / kMaxLinearTicks)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (span / (step * power) <= kMaxLinearTicks) return step * power;
  }
  return 10 * power;
}

}  // namespace

double PlotAxis::Fraction(double value) const {
  const auto place = [this](double each) { return log ? std::log10(each) : each; };
  const double fraction = (place(value) - place(low)) / (place(high) - place(low));
  return std::isnan(fraction) ? 0 : fraction;
}

std::vector<PlotTick> LinearTicks(const PlotAxis& axis, double unit) {
  const double step = LinearTickStep((axis.high - axis.low) / unit);
  std::vector<PlotTick> ticks;
  for (double i = std::ceil(axis.low / unit / step); i * step * unit <= axis.high; ++i) {
    const double value = i * step;
    ticks.push_back(
        {value * unit, value >= 1000 ? Grouped(value, 0) : absl::StrFormat("%g", value)});
  }
  return ticks;
}

std::vector<PlotTick> PowerTicks(const PlotAxis& axis, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(axis.low)));
  const int last = static_cast<int>(std::floor(std::log10(axis.high)));
  const int step = std::max(1, (last - first + most - 2) / (most - 1));
  std::vector<PlotTick> ticks;
  for (int power = first; power <= last; ++power) {
    const bool labelled = (power - first) % step == 0;
    ticks.push_back({std::pow(10.0, power), labelled ? PowerText(power) : ""});
  }
  return ticks;
}

std::string PowerText(int exponent) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  if (exponent >= 3 * static_cast<int>(std::size(kPrefixes)) || exponent < -3) {
    return absl::StrCat("1e", exponent);
  }
  if (exponent < 0) {
    return absl::StrCat("0.", std::string(static_cast<size_t>(-exponent - 1), '0'), 1);
  }
  return absl::StrCat("1", std::string(static_cast<size_t>(exponent % 3), '0'),
                      kPrefixes[exponent / 3]);
}

std::string CutTo(size_t width, const std::string& text) {
  if (static_cast<size_t>(DisplayWidth(text)) <= width) return text;
  return absl::StrCat(text.substr(0, PrefixBytes(text, width - 3)), "...");
}

}  // namespace sextant::client
