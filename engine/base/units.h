// Quantities that can't be mixed by accident. Every number that crosses a function boundary in
// engine/ has one of these types or is a plain count; only value() returns the bare number, in the
// SI base unit that the type's name states.
//
// Bytes is an int64: exact, and wide enough for 9.2e18 bytes. FLOPs are a double: one
// step of a 1e12-parameter model on 6e7 tokens is 3.6e20 FLOPs, which int64 can't hold.
// Prefixes are decimal (1 GB = 1e9 bytes, 1 GiB = 2^30 bytes).
#ifndef SEXTANT_ENGINE_BASE_UNITS_H_
#define SEXTANT_ENGINE_BASE_UNITS_H_

#include <compare>
#include <cstdint>

namespace sextant {

template <typename Tag, typename Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value_ * k); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using Seconds = Quantity<struct SecondsTag, double>;
using Joules = Quantity<struct JoulesTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Dollars = Quantity<struct DollarsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Flops n, FlopsPerSecond rate) {
  return Seconds(n.value() / rate.value());
}
constexpr Joules operator*(Watts power, Seconds time) {
  return Joules(power.value() * time.value());
}

inline constexpr double kSecondsPerHour = 3600;
inline constexpr double kSecondsPerDay = 86400;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_UNITS_H_
