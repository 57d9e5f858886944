#include "gpu_probe/figure_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sextant {

std::string RateText(double rate, absl::string_view unit) {
  double scaled = rate;
  for (const char* prefix : {"", "k", "M", "G", "T", "P", "E"}) {
    // 999.95 would round up to a fourth digit before the point.
    if (std::abs(scaled) < 999.95) return absl::StrFormat("%.1f %s%s", scaled, prefix, unit);
    scaled /= 1000;
  }
  return absl::StrFormat("%.3e %s", rate, unit);
}

std::string FineRateText(double rate, absl::string_view unit) {
  double scaled = rate;
  for (const char* prefix : {"", "k", "M", "G", "T", "P", "E"}) {
    if (std::abs(scaled) < 9.9995) return absl::StrFormat("%.3f %s%s", scaled, prefix, unit);
    if (std::abs(scaled) < 99.995) return absl::StrFormat("%.2f %s%s", scaled, prefix, unit);
    if (std::abs(scaled) < 999.95) return absl::StrFormat("%.1f %s%s", scaled, prefix, unit);
    scaled /= 1000;
  }
  return absl::StrFormat("%.3e %s", rate, unit);
}

std::string SecondsText(double seconds) {
  struct Unit {
    const char* name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (const Unit& unit : kUnits) {
    const double value = seconds / unit.seconds;
    // The next unit takes over where this one would show a fourth digit.
    if (value < 9.995) return absl::StrFormat("%.2f %s", value, unit.name);
    if (value < 99.95) return absl::StrFormat("%.1f %s", value, unit.name);
    if (value < 999.5) return absl::StrFormat("%.0f %s", value, unit.name);
  }
  return absl::StrFormat("%.0f s", seconds);
}

std::string BytesText(int64_t bytes) {
  if (std::abs(static_cast<double>(bytes)) < 1024) return absl::StrCat(bytes, " B");
  double scaled = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    scaled /= 1024;
    unit = next;
    if (std::abs(scaled) < 1023.995) break;
  }
  return absl::StrFormat("%.2f %s", scaled, unit);
}

std::string PercentText(double ratio) { return absl::StrFormat("%.1f %%", 100 * ratio); }

}  // namespace sextant
