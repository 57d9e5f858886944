// Figures for people, each with its unit.
#ifndef SEXTANT_GPU_PROBE_FIGURE_TEXT_H_
#define SEXTANT_GPU_PROBE_FIGURE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// "312.4 GFLOP/s": prefixes are powers of 1000, from none to E; "0.0" is below 0.05 of a unit.
std::string RateText(double rate, absl::string_view unit);

// The same with four digits, to tell rates apart that are close: "2.850 TB/s", "712.3 TFLOP/s".
std::string FineRateText(double rate, absl::string_view unit);

// "12.3 us", "1.50 ms", "241 s": three digits, from ns to s; more above 999 s.
std::string SecondsText(double seconds);

// "64.00 KiB", "1.00 GiB": powers of 1024; below 1 KiB in bytes.
std::string BytesText(int64_t bytes);

// "1.2 %" for 0.012.
std::string PercentText(double ratio);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_FIGURE_TEXT_H_
