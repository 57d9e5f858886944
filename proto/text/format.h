// Numbers with units, in the format that all programs share. Memory is in GiB (2^30 bytes) with two
// decimals; all other prefixes are powers of 1000.
#ifndef SEXTANT_PROTO_TEXT_FORMAT_H_
#define SEXTANT_PROTO_TEXT_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sextant::text {

// "70,553,706,496".
std::string Grouped(int64_t count);

// "1,234.50": `decimals` digits after the point, groups of three before it.
std::string Grouped(double value, int decimals);

// "131.42 GiB". A nonzero size that would read as zero also gives the bytes:
// "-0.00 GiB (-1 bytes)".
std::string Gib(int64_t bytes);
std::string Gib(double bytes);

// A whole number in full, "1,024"; any other with 10 significant digits.
std::string Plain(double value);

// "989.40 TFLOP/s" for 9.894e14 and "FLOP/s". Prefixes k to E; beyond, "6.350e24 FLOP".
std::string Scaled(double value, absl::string_view unit, int decimals = 2);

// Scaled() with four digits, to distinguish rates that are close: "2.850 TB/s", "712.3 TFLOP/s".
std::string ScaledToFourDigits(double value, absl::string_view unit);

// A value in a unit as the API spells it. "byte" is memory (GiB, or below one GiB MiB or KiB);
// "byte/s", "FLOP/s", "FLOP", "W" and "Hz" take prefixes; others are printed as they are.
std::string WithUnit(double value, absl::string_view unit);

// "512 B", "64.00 KiB", "1.50 TiB", for sentences: the unit follows the size.
std::string BinaryBytes(int64_t bytes);

// A unit of a run's duration: " days", " hours", " minutes" or " s".
struct DurationUnit {
  const char* name;
  double seconds;
};
DurationUnit UnitOfDuration(double seconds);

// "122.60 days", "3.20 hours", "41.00 minutes", "45.00 s".
std::string Duration(double seconds);

// A short time: "1.20 s", "6.88 ms", "12.30 us", "850.00 ns".
std::string ShortTime(double seconds);

// ShortTime() with three digits, for sentences: "12.3 us", "1.50 ms", "241 s".
std::string TimeToThreeDigits(double seconds);

// "35.2 to 40.9": the ends of an interval, as `number` writes each.
template <typename Interval, typename Number>
std::string EndsText(const Interval& interval, const Number& number) {
  return absl::StrCat(number(interval.low()), " to ", number(interval.high()));
}

// "8.42 MWh" for 3.03e10 J: kWh, MWh or GWh.
std::string Energy(double joules);

// "40.00 %" for 0.4; "< 0.01 %" for less that is not 0.
std::string Percent(double ratio);

// "1.2 %" for 0.012, for sentences; "0.0 %" for less than 0.0005.
std::string PercentToTenth(double ratio);

// Columns on a terminal. `text` is UTF-8 without combining or wide characters.
int64_t DisplayWidth(absl::string_view text);

// `text` with '?' for control characters other than line ends: text from a server or a file must
// not control the terminal.
std::string Printable(const std::string& text);

// A name of the API's as words: "first moment" for "first_moment".
std::string Words(absl::string_view name);

// `text` with blanks for line ends.
std::string OneLine(std::string text);

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_FORMAT_H_
