// Arithmetic, memory and time of one operation, a step or a run as text. They span many powers of
// ten: each has its unit, and no nonzero amount reads as zero.
#ifndef SEXTANT_CLIENT_TEXT_AMOUNTS_H_
#define SEXTANT_CLIENT_TEXT_AMOUNTS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "sextant/v1/interval.pb.h"
#include "sextant/v1/operation_cost.pb.h"

namespace sextant::client {

// "8.80 TFLOP", and whole numbers below a thousand as they are: "144 FLOP".
std::string ShortFlops(double flops);

// "8,796,093,022,208 FLOP (8.80 TFLOP)"; no parentheses where they would say the same.
std::string ExactFlops(double flops);

// "1.75 GiB", "4.00 KiB", and below 1 KiB "128 bytes".
std::string ShortBytes(int64_t bytes);

// "1,879,048,192 bytes (1.75 GiB)".
std::string ExactBytes(int64_t bytes);

// "4,681.14", "0.08333", in FLOP/byte; the second with the unit.
std::string IntensityNumber(double flops_per_byte);
std::string IntensityText(double flops_per_byte);

// "8.89 ms", "3.20 hours", "1.25e-13 s".
std::string TimeText(double seconds);

// "2.00 x", "0.00125 x".
std::string RatioText(double ratio);

// "37.4 ms (35.2 to 40.9)"; the second is "35.2 to 40.9". Ends in another unit have their own.
std::string TimeIntervalText(const v1::Interval& seconds);
std::string TimeEndsText(const v1::Interval& seconds);

// "19.7 days" and "18.6 to 22.4" of a run's duration: ends in the unit of the expected one.
std::string DurationToThreeDigits(double seconds);
std::string DurationEndsText(const v1::Interval& seconds);

// "3,840,000 device-hours", "0.48 device-hours".
std::string DeviceHours(double hours);

// "63,527 tokens/s". Decimals matter only for a small rate, which must not read as zero.
std::string TokensPerSecond(double rate);

// "2T", as people write it; the second in four digits: "70.55B", "1.400T".
std::string GivenCount(int64_t count);
std::string ShortCount(int64_t count);

// FLOP of matrix products and of everything else.
double TotalFlops(const v1::CostSum& sum);

// Bytes read and written.
int64_t MovedBytes(const v1::CostSum& sum);

// "[4, 8, 64]"; "[]" for a scalar. Takes any range of sizes.
std::string SizesText(absl::Span<const int64_t> sizes);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_TEXT_AMOUNTS_H_
