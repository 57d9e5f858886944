#include "proto/text/device_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace sextant::text {
namespace {

google::protobuf::Timestamp At(int64_t seconds, int32_t nanos = 0) {
  google::protobuf::Timestamp instant;
  instant.set_seconds(seconds);
  instant.set_nanos(nanos);
  return instant;
}

TEST(InstantText, IsInUtc) {
  EXPECT_EQ(InstantText(At(0)), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(InstantText(At(1'763'726'400, 999'999'999)), "2025-11-21 12:00:00 UTC");
  EXPECT_EQ(InstantText(At(-1)), "1969-12-31 23:59:59 UTC");
}

TEST(AgeSeconds, CountsFromTheInstant) {
  EXPECT_EQ(AgeSeconds(At(100, 500'000'000), absl::FromUnixSeconds(101)), 0.5);
  EXPECT_EQ(AgeSeconds(At(102), absl::FromUnixSeconds(101)), -1);
}

TEST(AgeText, PicksAReadableUnit) {
  struct Case {
    double seconds;
    const char* expect;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {0, "0 s ago"},
      {59, "59 s ago"},
      {90, "1.5 minutes ago"},
      {3600, "1.0 hours ago"},
      {2 * 86400 - 1, "48.0 hours ago"},
      {2 * 86400, "2.0 days ago"},
      {86400 * 1234.5, "1,234.5 days ago"},
      // Two clocks: a little is nothing, more is worth a look.
      {-0.5, "0 s ago"},
      {-60, "in the future: compare the clocks"},
      {kInfinity, "age not known"},
      {-kInfinity, "age not known"},
      {std::numeric_limits<double>::quiet_NaN(), "age not known"},
  };
  for (const Case& c : cases) EXPECT_EQ(AgeText(c.seconds), c.expect) << c.seconds;
}

TEST(DeviceText, OfAGpuTellsWhatItCanRunAndItsDriver) {
  v1::Device gpu;
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H200");
  gpu.set_uuid("GPU-1");
  gpu.set_compute_unit_count(132);
  gpu.set_compute_capability("9.0");
  gpu.set_driver_version("580.65.06");
  gpu.set_power_limit_watts(700);
  EXPECT_EQ(DeviceText(gpu), R"(NVIDIA H200
  kind             gpu
  uuid             GPU-1
  multiprocessors  132
  power limit      700 W
  capability       9.0
  driver           580.65.06
)");
  EXPECT_EQ(DeviceText({}), "a device without a name\n");
}

}  // namespace
}  // namespace sextant::text
