#include "client/text/amounts.h"

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

bool IsWhole(double value) { return std::trunc(value) == value; }

std::string ThreeDigits(double value) {
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  return Grouped(value, value < 99.95 ? 1 : 0);
}

// A count in the suffixes that flags take.
struct Suffixed {
  double value;
  const char* suffix;
};

Suffixed SuffixedOf(double count) {
  Suffixed out = {count, ""};
  for (const char* suffix : {"K", "M", "B", "T"}) {
    if (out.value < 999.95) break;
    out = {out.value / 1000, suffix};
  }
  return out;
}

}  // namespace

std::string ShortFlops(double flops) {
  if (std::abs(flops) < 1000) return absl::StrCat(Plain(flops), " FLOP");
  return Scaled(flops, "FLOP");
}

std::string ExactFlops(double flops) {
  if (std::abs(flops) < 1000 || !IsWhole(flops)) return ShortFlops(flops);
  return absl::StrCat(Plain(flops), " FLOP (", ShortFlops(flops), ")");
}

std::string ShortBytes(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  return WithUnit(static_cast<double>(bytes), "byte");
}

std::string ExactBytes(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return ShortBytes(bytes);
  return absl::StrCat(Grouped(bytes), " bytes (", ShortBytes(bytes), ")");
}

std::string IntensityNumber(double flops_per_byte) {
  // Two decimals, or four digits for small values.
  return std::abs(flops_per_byte) >= 10 ? Grouped(flops_per_byte, 2)
                                        : absl::StrFormat("%.4g", flops_per_byte);
}

std::string IntensityText(double flops_per_byte) {
  return absl::StrCat(IntensityNumber(flops_per_byte), " FLOP/byte");
}

std::string TimeText(double seconds) {
  if (seconds >= 3600) return Duration(seconds);
  if (seconds > 0 && seconds < 1e-11) return absl::StrFormat("%.3g s", seconds);
  return ShortTime(seconds);
}

std::string RatioText(double ratio) {
  return ratio >= 0.01 || ratio == 0 ? absl::StrFormat("%.2f x", ratio)
                                     : absl::StrFormat("%.3g x", ratio);
}

std::string TimeIntervalText(const v1::Interval& seconds) {
  return absl::StrCat(TimeToThreeDigits(seconds.expected()), " (", TimeEndsText(seconds), ")");
}

std::string TimeEndsText(const v1::Interval& seconds) {
  const std::string expected = TimeToThreeDigits(seconds.expected());
  const std::string unit = expected.substr(expected.find(' '));
  const bool one_unit = absl::EndsWith(TimeToThreeDigits(seconds.low()), unit) &&
                        absl::EndsWith(TimeToThreeDigits(seconds.high()), unit);
  return text::EndsText(seconds, [&](double end) {
    const std::string text = TimeToThreeDigits(end);
    return one_unit ? std::string(absl::StripSuffix(text, unit)) : text;
  });
}

std::string DurationToThreeDigits(double seconds) {
  const text::DurationUnit unit = text::UnitOfDuration(seconds);
  return absl::StrCat(ThreeDigits(seconds / unit.seconds), unit.name);
}

std::string DurationEndsText(const v1::Interval& seconds) {
  const text::DurationUnit unit = text::UnitOfDuration(seconds.expected());
  return text::EndsText(seconds, [&](double end) { return ThreeDigits(end / unit.seconds); });
}

std::string DeviceHours(double hours) {
  if (hours > 0 && hours < 0.01) return absl::StrFormat("%.2g device-hours", hours);
  return absl::StrCat(ThreeDigits(hours), " device-hours");
}

std::string TokensPerSecond(double rate) {
  if (rate > 0 && rate < 0.01) return absl::StrFormat("%.3g tokens/s", rate);
  return absl::StrCat(Grouped(rate, rate < 100 ? 2 : 0), " tokens/s");
}

double TotalFlops(const v1::CostSum& sum) { return sum.matrix_flops() + sum.other_flops(); }

int64_t MovedBytes(const v1::CostSum& sum) {
  int64_t moved = 0;
  const bool fits = !__builtin_add_overflow(sum.read_bytes(), sum.written_bytes(), &moved);
  return fits ? moved : std::numeric_limits<int64_t>::max();  // no server's answer has as many
}

std::string SizesText(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

std::string GivenCount(int64_t count) {
  const Suffixed given = SuffixedOf(static_cast<double>(count));
  return absl::StrFormat("%.4g%s", given.value, given.suffix);
}

std::string ShortCount(int64_t count) {
  const auto [value, suffix] = SuffixedOf(static_cast<double>(count));
  if (value >= 9999.5) return absl::StrFormat("%.3e%s", value, suffix);
  const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  return absl::StrFormat("%.*f%s", decimals, value, suffix);
}

}  // namespace sextant::client
