#include "proto/words/number.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace sextant::words {
namespace {

struct Suffix {
  absl::string_view name;
  uint64_t factor;
};

constexpr Suffix kCountSuffixes[] = {
    {"", 1}, {"K", 1000}, {"M", 1000000}, {"B", 1000000000}, {"T", 1000000000000}};

constexpr Suffix kByteSuffixes[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"PB", 1000000000000000},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
    {"PiB", uint64_t{1} << 50},
};

constexpr Suffix kLengthSuffixes[] = {
    {"", 1}, {"Ki", uint64_t{1} << 10}, {"Mi", uint64_t{1} << 20}};

// To nanoseconds.
constexpr Suffix kTimeSuffixes[] = {{"s", 1000000000},
                                    {"m", 60 * uint64_t{1000000000}},
                                    {"h", 3600 * uint64_t{1000000000}},
                                    {"d", 86400 * uint64_t{1000000000}}};

// The notation of one kind of whole number.
struct WholeForm {
  absl::Span<const Suffix> suffixes;
  bool any_case;
  const char* write;
  const char* most;  // the largest that 64 bits hold
};

constexpr WholeForm kCount = {
    kCountSuffixes, true,
    "write a whole number such as 1024, 15e12 or 70B (K, M, B, T: powers of 1000)",
    "9223372036854775807 (9.22e18)"};
constexpr WholeForm kByteCount = {
    kByteSuffixes, false,
    "write a whole number of bytes such as 85899345920, 80GiB (2^30 each) or 80GB (1e9 each)",
    "9223372036854775807 (9.22e18)"};
constexpr WholeForm kLength = {kLengthSuffixes, false,
                               "write a whole number such as 8192 or 8Ki (Ki: 2^10, Mi: 2^20)",
                               "9223372036854775807 (9.22e18)"};
constexpr WholeForm kTime = {kTimeSuffixes, false,
                             "write a time with its unit such as 90s, 15m (minutes), 36h or 7d",
                             "106751d (292 years)"};

// (-1)^negative x digits x 10^exponent. `digits` has no zeros at either end, and is empty for zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

// Takes the digits at the front of `text`.
absl::string_view TakeDigits(absl::string_view* text) {
  size_t n = 0;
  while (n < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[n]))) ++n;
  const absl::string_view digits = text->substr(0, n);
  text->remove_prefix(n);
  return digits;
}

// Takes "e12", "E+12" or "e-12" from the front of `text`; 0 where there is none. Exponents beyond
// +-1e6 are clamped: no 64-bit number comes near.
int TakeExponent(absl::string_view* text) {
  absl::string_view rest = *text;
  if (!absl::ConsumePrefix(&rest, "e") && !absl::ConsumePrefix(&rest, "E")) return 0;
  const bool negative = absl::ConsumePrefix(&rest, "-");
  if (!negative) absl::ConsumePrefix(&rest, "+");
  const absl::string_view digits = TakeDigits(&rest);
  if (digits.empty()) return 0;
  *text = rest;
  int value = 0;
  if (!absl::SimpleAtoi(digits, &value)) value = 1000000;
  value = std::min(value, 1000000);
  return negative ? -value : value;
}

// Takes a decimal number from the front of `text`; nullopt where there is none.
std::optional<Decimal> TakeDecimal(absl::string_view* text) {
  Decimal out;
  out.negative = absl::ConsumePrefix(text, "-");
  if (!out.negative) absl::ConsumePrefix(text, "+");
  const absl::string_view whole = TakeDigits(text);
  absl::string_view fraction;
  if (absl::ConsumePrefix(text, ".")) fraction = TakeDigits(text);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  out.digits = absl::StrCat(whole, fraction);
  out.exponent = TakeExponent(text) - static_cast<int>(std::min<size_t>(fraction.size(), 1000000));
  while (!out.digits.empty() && out.digits.back() == '0') {
    out.digits.pop_back();
    ++out.exponent;
  }
  out.digits.erase(0, out.digits.find_first_not_of('0'));
  return out;
}

absl::Status NotWhole(absl::string_view text, const WholeForm& form) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a whole number; ", form.write));
}

absl::Status TooLarge(absl::string_view text, const WholeForm& form) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" does not fit in 64 bits; write at most ", form.most));
}

// `decimal` x `factor`, exactly. 19 digits x a factor below 2^50 stay below 2^114.
absl::StatusOr<int64_t> Whole(const Decimal& decimal, uint64_t factor, absl::string_view text,
                              const WholeForm& form) {
  if (decimal.digits.empty()) return 0;
  uint64_t significand = 0;
  if (decimal.digits.size() > 19 || !absl::SimpleAtoi(decimal.digits, &significand)) {
    return decimal.exponent < 0 ? NotWhole(text, form) : TooLarge(text, form);
  }
  absl::uint128 value = absl::uint128(significand) * factor;
  for (int e = decimal.exponent; e < 0; ++e) {
    if (value % 10 != 0) return NotWhole(text, form);
    value /= 10;
  }
  const absl::uint128 limit = absl::uint128(uint64_t{1} << 63) - (decimal.negative ? 0 : 1);
  for (int e = decimal.exponent; e > 0 && value <= limit; --e) value *= 10;
  if (value > limit) return TooLarge(text, form);
  const uint64_t magnitude = absl::Uint128Low64(value);
  return static_cast<int64_t>(decimal.negative ? 0 - magnitude : magnitude);
}

absl::StatusOr<int64_t> ParseWhole(absl::string_view text, const WholeForm& form) {
  absl::string_view rest = text;
  const std::optional<Decimal> decimal = TakeDecimal(&rest);
  if (!decimal.has_value()) return NotWhole(text, form);
  for (const Suffix& suffix : form.suffixes) {
    if (rest == suffix.name || (form.any_case && absl::EqualsIgnoreCase(rest, suffix.name))) {
      return Whole(*decimal, suffix.factor, text, form);
    }
  }
  if (rest.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" has no unit; ", form.write));
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ends in \"", rest,
                                                 "\", which is not a unit here; ", form.write));
}

}  // namespace

absl::StatusOr<int64_t> ParseCount(absl::string_view text) { return ParseWhole(text, kCount); }

absl::StatusOr<int64_t> ParseLength(absl::string_view text) {
  const absl::string_view unit = text.empty() ? "" : text.substr(text.size() - 1);
  const bool thousands = absl::EqualsIgnoreCase(unit, "K");
  if (thousands || absl::EqualsIgnoreCase(unit, "M")) {
    const absl::StatusOr<int64_t> decimal = ParseCount(text);
    const absl::StatusOr<int64_t> binary =
        ParseWhole(absl::StrCat(absl::StripSuffix(text, unit), thousands ? "Ki" : "Mi"), kLength);
    if (decimal.ok() && binary.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" could mean ", *decimal, " or ", *binary, ": write one of them, or ",
          absl::StripSuffix(text, unit), thousands ? "Ki" : "Mi", " for the second"));
    }
  }
  return ParseWhole(text, kLength);
}

absl::StatusOr<int64_t> ParseByteCount(absl::string_view text) {
  return ParseWhole(text, kByteCount);
}

absl::StatusOr<int64_t> ParseNanoseconds(absl::string_view text) { return ParseWhole(text, kTime); }

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  // "ms" before "m" and "s": it ends in "s".
  constexpr std::pair<absl::string_view, double> kUnits[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  for (const auto& [unit, seconds] : kUnits) {
    absl::string_view number = text;
    double value = 0;
    if (!absl::ConsumeSuffix(&number, unit)) continue;
    if (absl::SimpleAtod(number, &value)) return value * seconds;
    break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a time; write a number and its unit such as 850ns, 12us, 6.9ms, "
                   "1.2s, 15m (minutes) or 36h"));
}

absl::StatusOr<double> ParseNumber(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a number; write one such as 0.4, 700 or 989e12"));
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text) {
  std::vector<int64_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, 'x')) {
    const absl::StatusOr<int64_t> size = ParseLength(part);
    if (!size.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\": ", size.status().message(), "; join sizes by x: 4x8x64"));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text) {
  if (text == kScalarShape) return std::vector<int64_t>();
  return ParseSizes(text);
}

absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("[", absl::StrJoin(sizes, ", "),
                                                     "] has a size of ", size,
                                                     "; write sizes of at least 1"));
    }
    if (__builtin_mul_overflow(count, size, &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("[", absl::StrJoin(sizes, ", "),
                       "] has more elements than fit in 64 bits; write at most 9.22e18"));
    }
  }
  return count;
}

}  // namespace sextant::words
