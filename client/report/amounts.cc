#include "client/report/amounts.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/text.h"

namespace sextant::client {
namespace {

bool IsWhole(double value) { return std::trunc(value) == value; }

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

}  // namespace sextant::client
