#include "proto/text/format.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace sextant::text {
namespace {

constexpr double kGib = 1073741824.0;  // 2^30
constexpr double kMib = 1048576.0;     // 2^20
constexpr double kKib = 1024.0;

constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};  // powers of 1000

// Puts commas into the digits before the point. "inf" and "nan" have none.
std::string InsertCommas(std::string number) {
  size_t begin = 0;
  while (begin < number.size() && !absl::ascii_isdigit(static_cast<unsigned char>(number[begin]))) {
    ++begin;
  }
  size_t end = begin;
  while (end < number.size() && absl::ascii_isdigit(static_cast<unsigned char>(number[end]))) ++end;
  while (end > begin + 3) {
    end -= 3;
    number.insert(end, 1, ',');
  }
  return number;
}

// `value` under the prefix that leaves it below 1000, with `decimals_of(scaled)` decimals.
template <typename DecimalsOf>
std::string ScaledWith(double value, absl::string_view unit, DecimalsOf decimals_of) {
  double scaled = value;
  for (const char* prefix : kPrefixes) {
    const int decimals = decimals_of(scaled);
    // 999.995 would round up to a fourth digit before the point.
    if (std::abs(scaled) < 1000 - 0.5 * std::pow(10, -decimals)) {
      return absl::StrFormat("%.*f %s%s", decimals, scaled, prefix, unit);
    }
    scaled /= 1000;
  }
  return absl::StrFormat("%.3e %s", value, unit);
}

}  // namespace

std::string Grouped(int64_t count) { return InsertCommas(absl::StrCat(count)); }

std::string Grouped(double value, int decimals) {
  return InsertCommas(absl::StrFormat("%.*f", decimals, value));
}

std::string Gib(int64_t bytes) { return Gib(static_cast<double>(bytes)); }

std::string Gib(double bytes) {
  std::string gib = absl::StrCat(Grouped(bytes / kGib, 2), " GiB");
  if (bytes == 0 || std::abs(bytes) >= 0.005 * kGib) return gib;
  return absl::StrCat(gib, " (", Plain(bytes), " bytes)");
}

std::string Plain(double value) {
  // Below 2^53 a double holds each whole number exactly.
  if (std::trunc(value) == value && std::abs(value) < 9007199254740992.0) return Grouped(value, 0);
  return absl::StrFormat("%.10g", value);
}

std::string Scaled(double value, absl::string_view unit, int decimals) {
  return ScaledWith(value, unit, [decimals](double) { return decimals; });
}

std::string ScaledToFourDigits(double value, absl::string_view unit) {
  return ScaledWith(value, unit, [](double scaled) {
    const double size = std::abs(scaled);
    return size < 9.9995 ? 3 : size < 99.995 ? 2 : 1;
  });
}

std::string WithUnit(double value, absl::string_view unit) {
  if (unit == "byte" || unit == "bytes") {
    if (value == 0 || !(std::abs(value) < kGib)) return Gib(value);
    return std::abs(value) < kMib ? absl::StrCat(Grouped(value / kKib, 2), " KiB")
                                  : absl::StrCat(Grouped(value / kMib, 2), " MiB");
  }
  if (unit == "byte/s") return Scaled(value, "B/s");
  for (const absl::string_view si : {"FLOP/s", "FLOP", "W", "Hz"}) {
    if (unit == si) return Scaled(value, unit);
  }
  return unit.empty() ? Plain(value) : absl::StrCat(Plain(value), " ", unit);
}

std::string BinaryBytes(int64_t bytes) {
  double scaled = static_cast<double>(bytes);
  if (std::abs(scaled) < kKib) return absl::StrCat(bytes, " B");
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    scaled /= kKib;
    unit = next;
    if (std::abs(scaled) < 1023.995) break;
  }
  return absl::StrFormat("%.2f %s", scaled, unit);
}

DurationUnit UnitOfDuration(double seconds) {
  if (seconds >= 86400) return {" days", 86400};
  if (seconds >= 3600) return {" hours", 3600};
  if (seconds >= 60) return {" minutes", 60};
  return {" s", 1};
}

std::string Duration(double seconds) {
  const DurationUnit unit = UnitOfDuration(seconds);
  return absl::StrCat(Grouped(seconds / unit.seconds, 2), unit.name);
}

std::string ShortTime(double seconds) {
  double scaled = seconds;
  for (const char* unit : {"s", "ms", "us"}) {
    if (!(std::abs(scaled) < 0.999995)) return absl::StrCat(Grouped(scaled, 2), " ", unit);
    scaled *= 1000;
  }
  return seconds == 0 ? "0.00 s" : absl::StrCat(Grouped(scaled, 2), " ns");
}

std::string TimeToThreeDigits(double seconds) {
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (const Unit& unit : kUnits) {
    const double value = seconds / unit.seconds;
    // The next unit is used where this one would show a fourth digit.
    if (value < 9.995) return absl::StrFormat("%.2f %s", value, unit.name);
    if (value < 99.95) return absl::StrFormat("%.1f %s", value, unit.name);
    if (value < 999.5) return absl::StrFormat("%.0f %s", value, unit.name);
  }
  return absl::StrFormat("%.0f s", seconds);
}

std::string Energy(double joules) {
  const double kwh = joules / 3.6e6;
  if (std::abs(kwh) >= 1e6) return absl::StrCat(Grouped(kwh / 1e6, 2), " GWh");
  if (std::abs(kwh) >= 1e3) return absl::StrCat(Grouped(kwh / 1e3, 2), " MWh");
  return absl::StrCat(Grouped(kwh, 2), " kWh");
}

std::string Percent(double ratio) {
  if (ratio > 0 && ratio < 0.0001) return "< 0.01 %";
  return absl::StrFormat("%.2f %%", 100 * ratio);
}

std::string PercentToTenth(double ratio) { return absl::StrFormat("%.1f %%", 100 * ratio); }

int64_t DisplayWidth(absl::string_view text) {
  // Every byte but UTF-8's continuation bytes (10xxxxxx) starts a character.
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string Printable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // UTF-8's two bytes for the control characters U+0080 to U+009F.
    const bool pair = byte == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;
    if (pair) ++i;
    out += pair || (byte != '\n' && absl::ascii_iscntrl(byte)) ? '?' : text[i];
  }
  return out;
}

std::string Words(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace sextant::text
