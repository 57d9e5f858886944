// Integer arithmetic that detects overflow. Sizes enter the engine through it; after that they are
// bounded, and plain operators can't overflow.
#ifndef SEXTANT_ENGINE_BASE_CHECKED_MATH_H_
#define SEXTANT_ENGINE_BASE_CHECKED_MATH_H_

#include <cstdint>

namespace sextant {

// An int64 that remembers whether any step of its computation overflowed. Products and sums read
// like their formulas; check ok() once, at the end.
class CheckedInt {
 public:
  constexpr CheckedInt(int64_t value) : value_(value) {}  // NOLINT: implicit by design

  // False if a step overflowed; value() is then meaningless.
  constexpr bool ok() const { return ok_; }
  constexpr int64_t value() const { return value_; }

  friend constexpr CheckedInt operator+(CheckedInt a, CheckedInt b) {
    CheckedInt out(0);
    out.ok_ = !__builtin_add_overflow(a.value_, b.value_, &out.value_) && a.ok_ && b.ok_;
    return out;
  }
  friend constexpr CheckedInt operator*(CheckedInt a, CheckedInt b) {
    CheckedInt out(0);
    out.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &out.value_) && a.ok_ && b.ok_;
    return out;
  }

 private:
  int64_t value_;
  bool ok_ = true;
};

// The smallest integer that is at least a / b, for a >= 0 and b >= 1.
// Fast path without a division for powers of two, which ranks usually are.
constexpr int64_t CeilDivide(int64_t a, int64_t b) {
  if ((b & (b - 1)) == 0)
    return (a >> __builtin_ctzll(static_cast<uint64_t>(b))) + ((a & (b - 1)) != 0 ? 1 : 0);
  return a / b + (a % b != 0 ? 1 : 0);
}

// std::llround() of up to 2^62 either way, without a call.
constexpr int64_t RoundedInt(double number) {
  const auto whole = static_cast<int64_t>(number);
  const double rest = number - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_CHECKED_MATH_H_
