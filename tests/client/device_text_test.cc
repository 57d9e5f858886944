#include "client/device_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

// 34,359,738,368 = 32 x 2^30; 33,554,432 = 32 x 2^20; 85,899,345,920 = 80 x 2^30; 10,800 s are
// three hours.
TEST(DevicesText, IsAsWorkedByHand) {
  EXPECT_EQ(DevicesText(SampleDevices()), R"(Example 8-Core Processor
  kind          cpu
  uuid          CPU-0123456789abcdef
  host          node7
  cores         8
  memory        32.00 GiB
  last cache    32.00 MiB
  instructions  avx2, avx512f, avx512_bf16
  measured      2025-11-21 12:00:00 UTC, 3.0 hours ago
  fingerprint   c0ffee

NVIDIA H100 80GB HBM3
  kind             gpu
  uuid             GPU-00000000-0000-0000-0000-000000000001
  host             node7
  PCI bus          0000:1a:00.0
  multiprocessors  132
  memory           80.00 GiB
  power limit      700 W
  catalogue        h100-sxm
  measured         never; sextant probe measures it
)");
}

TEST(DevicesText, LeavesOutWhatAHostDoesNotTell) {
  v1::ListDevicesResponse response;
  response.add_devices();
  EXPECT_EQ(DevicesText(response),
            "a device without a name\n  measured  never; sextant probe measures it\n");
}

TEST(DevicesText, SaysLoudlyWhichHadAWrongResult) {
  v1::ListDevicesResponse response;
  response.add_devices()->set_distrusted(true);
  EXPECT_THAT(DevicesText(response), HasSubstr("measured  WRONG RESULTS in the last probe"));
}

TEST(DevicesText, OfNoDeviceSaysSo) {
  EXPECT_THAT(DevicesText({}), HasSubstr("no device that can be measured"));
}

}  // namespace
}  // namespace sextant
