// Arithmetic, memory and time of one operation as text. They span many powers of ten: each has its
// unit, and no nonzero amount reads as zero.
#ifndef SEXTANT_CLIENT_REPORT_AMOUNTS_H_
#define SEXTANT_CLIENT_REPORT_AMOUNTS_H_

#include <cstdint>
#include <string>

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

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_AMOUNTS_H_
