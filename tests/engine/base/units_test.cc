#include "engine/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "engine/base/checked_math.h"

namespace sextant {
namespace {

template <typename A, typename B, typename = void>
struct Divides : std::false_type {};
template <typename A, typename B>
struct Divides<A, B, std::void_t<decltype(std::declval<A>() / std::declval<B>())>>
    : std::true_type {};

// The point of the types: nonsense does not compile.
static_assert(Divides<Flops, FlopsPerSecond>::value);
static_assert(!Divides<Flops, BytesPerSecond>::value);
static_assert(!Divides<Bytes, Seconds>::value);
static_assert(!std::is_convertible_v<int64_t, Bytes>);
static_assert(!std::is_convertible_v<Bytes, int64_t>);

TEST(Units, DivideWorkBySpeedIntoTime) {
  EXPECT_EQ(Flops(6e24) / FlopsPerSecond(1e15), Seconds(6e9));
}

TEST(Units, MultiplyPowerByTimeIntoEnergy) {
  EXPECT_EQ(Watts(700) * Seconds(3600), Joules(2.52e6));
}

TEST(CheckedInt, AddsAndMultipliesExactly) {
  const CheckedInt x = CheckedInt(3'000'000'000) * 3 + 7;
  ASSERT_TRUE(x.ok());
  EXPECT_EQ(x.value(), 9'000'000'007);
}

TEST(CheckedInt, RemembersAnOverflowThroughLaterSteps) {
  const CheckedInt too_much = CheckedInt(INT64_MAX) + 1;
  EXPECT_FALSE(too_much.ok());
  EXPECT_FALSE((too_much * 0).ok());
  EXPECT_FALSE((CheckedInt(0) + too_much).ok());
  EXPECT_FALSE((CheckedInt(INT64_MAX) * 2).ok());
}

TEST(CeilDivide, RoundsUpWithoutOverflow) {
  EXPECT_EQ(CeilDivide(0, 7), 0);
  EXPECT_EQ(CeilDivide(7, 7), 1);
  EXPECT_EQ(CeilDivide(8, 7), 2);
  EXPECT_EQ(CeilDivide(INT64_MAX, 2), INT64_MAX / 2 + 1);
  EXPECT_EQ(CeilDivide(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(CeilDivide(INT64_MAX, int64_t{1} << 62), 2);
  for (int64_t b = 1; b <= 65; ++b) {
    for (int64_t a = 0; a <= 200; ++a)
      ASSERT_EQ(CeilDivide(a, b), (a + b - 1) / b) << a << "/" << b;
  }
}

}  // namespace
}  // namespace sextant
