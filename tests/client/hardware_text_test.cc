#include "client/report/hardware_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/text/text.h"
#include "tests/client/sample_calibration.h"

namespace sextant::client {
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

TEST(HeldCalibrationText, IsTheCalibrationItsAgeAndWhoHoldsIt) {
  EXPECT_EQ(HeldCalibrationText(SampleHeldCalibration()),
            absl::StrCat(CalibrationText(SampleCalibration(), 3 * 3600),
                         "\nengine 0.1.0, calibration c0ffee\n"));
}

TEST(ProbeResultText, SaysWhatBecameOfIt) {
  v1::RunProbeResponse::Result result = SampleProbeResult().result();
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nIn use: plans on this device stand on it from now on.\n"
                        "engine 0.1.0, calibration c0ffee\n"));
  EXPECT_THAT(ProbeResultText(result), HasSubstr("measured      2025-11-21 12:00:00 UTC\n"));
  v1::RunProbeResponse::Result disturbed = result;
  for (v1::MatmulMeasurement& matmul : *disturbed.mutable_calibration()->mutable_matmuls()) {
    matmul.mutable_time()->set_stable(false);
  }
  for (auto& measured : *disturbed.mutable_calibration()->mutable_streams()) {
    measured.mutable_time()->set_stable(false);
  }
  EXPECT_THAT(
      ProbeResultText(disturbed),
      HasSubstr("\nIn use, for want of a better one: 6 of its 13 times are stable, which "));
  result.set_in_use(false);
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use: plans on this device go on as before.\n"));
  result.set_unused_text("The full calibration of last week stays in use: it is better.");
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use. The full calibration of last week stays in use: it is "
                        "better.\n"));
  result.set_storage_warning("/var is full");
  EXPECT_THAT(ProbeResultText(result), HasSubstr("\nWarning: /var is full\n"));
}

}  // namespace
}  // namespace sextant::client
