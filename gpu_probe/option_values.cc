#include "gpu_probe/option_values.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/budget.h"

namespace sextant {
namespace {

constexpr int64_t kMaximumDimension = 1000000;
constexpr double kMaximumAgeSeconds = 3650 * 86400.0;
constexpr double kMaximumBytes = 9007199254740992.0;  // 2^53: all whole doubles up to it exist

struct NamedType {
  absl::string_view name;
  v1::DataType type;
};

// Those that one backend or the other multiplies in. fp8 is E4M3, which forward passes multiply
// in; the API's name for it goes as well.
constexpr NamedType kMultipliedTypes[] = {
    {"fp64", v1::DATA_TYPE_FP64},    {"fp32", v1::DATA_TYPE_FP32},
    {"tf32", v1::DATA_TYPE_TF32},    {"fp16", v1::DATA_TYPE_FP16},
    {"bf16", v1::DATA_TYPE_BF16},    {"int8", v1::DATA_TYPE_INT8},
    {"fp8", v1::DATA_TYPE_FP8_E4M3}, {"fp8_e4m3", v1::DATA_TYPE_FP8_E4M3},
    {"mxfp8", v1::DATA_TYPE_MXFP8},  {"nvfp4", v1::DATA_TYPE_NVFP4}};

struct Unit {
  absl::string_view name;
  double factor;
};

// A plain decimal number and one of `units`; absent where it is anything else.
absl::optional<double> NumberWithUnit(absl::string_view text, absl::Span<const Unit> units) {
  const size_t end = text.find_last_of("0123456789.");
  if (end == absl::string_view::npos) return absl::nullopt;
  const absl::string_view number = text.substr(0, end + 1);
  double value = 0;
  if (number.find_first_not_of("0123456789.") != absl::string_view::npos ||
      !absl::SimpleAtod(number, &value)) {
    return absl::nullopt;
  }
  for (const Unit& unit : units) {
    if (text.substr(end + 1) == unit.name) return value * unit.factor;
  }
  return absl::nullopt;
}

}  // namespace

absl::StatusOr<v1::ProbeMode> ParseProbeMode(absl::string_view text) {
  if (text == "quick") return v1::PROBE_MODE_QUICK;
  if (text == "standard") return v1::PROBE_MODE_STANDARD;
  if (text == "full") return v1::PROBE_MODE_FULL;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no mode; write one of quick, standard, full"));
}

absl::StatusOr<double> ParseBudgetSeconds(absl::string_view text) {
  constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
  const absl::optional<double> seconds = NumberWithUnit(text, kUnits);
  if (seconds.has_value() && *seconds >= kMinimumBudgetSeconds &&
      *seconds <= kMaximumBudgetSeconds) {
    return *seconds;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no budget; write a time from 100ms to 1h, such as 5s, 500ms or 2m"));
}

absl::StatusOr<double> ParseAgeSeconds(absl::string_view text) {
  constexpr Unit kUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const absl::optional<double> seconds = NumberWithUnit(text, kUnits);
  if (seconds.has_value() && *seconds > 0 && *seconds <= kMaximumAgeSeconds) return *seconds;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no age; write one of at most 3650d with its unit, such as 7d or 36h"));
}

absl::StatusOr<int64_t> ParseByteCount(absl::string_view text) {
  constexpr Unit kUnits[] = {
      {"", 1},      {"B", 1},         {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1099511627776.0}};
  const absl::optional<double> bytes = NumberWithUnit(text, kUnits);
  if (bytes.has_value() && *bytes >= 1 && *bytes <= kMaximumBytes && std::trunc(*bytes) == *bytes) {
    return static_cast<int64_t>(*bytes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no whole number of bytes; write one such as 1073741824, ",
                   "2GiB (2^30 each) or 2GB (1e9 each), at most 2^53"));
}

absl::StatusOr<v1::DataType> ParseDataType(absl::string_view text) {
  for (const NamedType& known : kMultipliedTypes) {
    if (text == known.name) return known.type;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no type to multiply in; write ",
      absl::StrJoin(kMultipliedTypes, ", ", [](std::string* out, const NamedType& known) {
        absl::StrAppend(out, known.name);
      })));
}

absl::StatusOr<v1::MatmulShape> ParseMatmulShape(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  v1::MatmulShape shape;
  if (parts.size() == 2) {
    SEXTANT_ASSIGN_OR_RETURN(const v1::DataType type, ParseDataType(parts[1]));
    shape.set_data_type(type);
  }
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[0], 'x');
  std::vector<int64_t> values;
  for (const absl::string_view size : sizes) {
    int64_t value = 0;
    const bool digits = size.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!digits || !absl::SimpleAtoi(size, &value) || value < 1 || value > kMaximumDimension) break;
    values.push_back(value);
  }
  if (sizes.size() != 3 || values.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no shape; write MxNxK or MxNxK:TYPE with sizes from 1 to ",
                     kMaximumDimension, ", such as 1024x4096x1024:bf16"));
  }
  shape.set_m(values[0]);
  shape.set_n(values[1]);
  shape.set_k(values[2]);
  return shape;
}

}  // namespace sextant
