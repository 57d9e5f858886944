#include "client/report/hardware_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/text/text.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_links.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AcceleratorTable, IsAsWorkedByHand) {
  EXPECT_EQ(AcceleratorTable(SampleAccelerators()),
            "name      memory  driver    bw   BF16  FP16  FP8  FP32  link  TDP  product\n"
            "             GiB     GiB  TB/s                          GB/s    W\n"
            "h100-sxm   74.51   79.65  3.35  989.4     -    -  66.9   450  700  H100 SXM5 80GB\n"
            "\n"
            "memory: the datasheet's nominal size, with its bandwidth; driver: what its driver "
            "reports. BF16 to\nFP32: dense peaks in TFLOP/s; link: one direction; TDP: power. 1 "
            "TB = 1e12 bytes, 1 GiB = 2^30\nbytes; - is not published.\n");
}

TEST(AcceleratorSources, GiveEveryFigureWithItsSource) {
  EXPECT_EQ(AcceleratorSources(SampleAccelerators()),
            "h100-sxm: H100 SXM5 80GB, NVIDIA, Hopper, SXM5, memory HBM3, link NVLink4\n"
            "  memory                        74.51 GiB  datasheet A\n"
            "  memory bandwidth              3.35 TB/s  datasheet B\n"
            "  link bandwidth              450.00 GB/s  datasheet E\n"
            "  cache                         50.00 MiB  datasheet F\n"
            "  compute unit count                  132  datasheet G\n"
            "  boost clock                    1.98 GHz  datasheet H\n"
            "  thermal design power           700.00 W  datasheet I\n"
            "  reported memory               79.65 GiB  driver A\n"
            "  driver reserved              480.00 MiB  driver B\n"
            "  peak bf16 (matrix unit)  989.40 TFLOP/s  datasheet C\n"
            "  peak fp32                 66.90 TFLOP/s  datasheet D\n"
            "  note: a note\n");
}

// Words stand where nothing is known, never a zero.
TEST(AcceleratorTable, ShowsWhatIsAbsentAsAbsent) {
  v1::ListAcceleratorsResponse response;
  response.add_accelerators()->set_name("x");
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(AcceleratorTable(response), '\n'))[2],
            "x          -       -     -     -     -    -     -     -    -");
}

TEST(AcceleratorText, NeverPasses99Columns) {
  v1::ListAcceleratorsResponse response = SampleAccelerators();
  v1::Accelerator* accelerator = response.mutable_accelerators(0);
  accelerator->set_name("h100-96-hbm2e-500w");
  accelerator->set_product_name("H100 SXM 96GB HBM2e 500 W (Meta Grand Teton)");
  accelerator->mutable_memory_bytes()->set_source(std::string(300, 's'));
  std::string notes;
  for (int i = 0; i < 60; ++i) notes += "several words ";
  accelerator->set_notes(notes);
  for (const std::string& text : {AcceleratorTable(response), AcceleratorSources(response)}) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(line.size(), kTextWidth) << line;
    }
  }
}

TEST(NodeTypeTable, HasALineForEachInGigabytes) {
  const std::string text = NodeTypeTable(SampleNodeTypes());
  EXPECT_THAT(text, HasSubstr("toy-8            8  450.0  31.5     50.0  yes      toy-a, toy-b\n"));
  EXPECT_THAT(text, HasSubstr("toy-board        4  300.0     -        -  no       toy-a\n"));
  EXPECT_THAT(text, HasSubstr("toy-net  25.0  Toy Net, 200 Gb/s\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("one direction"), HasSubstr("1 GB = 1e9 bytes")));
}

TEST(NodeTypeSources, HaveASourceForEachFigure) {
  const std::string text = NodeTypeSources(SampleNodeTypes());
  for (const char* part :
       {"toy-8: A Toy of Eight, with toy-a, toy-b, joined by ToyLink 3, whose switch adds up",
        "counted", "450.00 GB/s  a sheet <1>", "31.50 GB/s  a sheet 2", "50.00 GB/s  a sheet 3",
        "note: not for sale", "300.00 GB/s  a sheet 4", "Toy Net, 200 Gb/s  its name"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  v1::ListNodeTypesResponse board = SampleNodeTypes();
  board.mutable_node_types()->DeleteSubrange(0, 1);
  EXPECT_THAT(NodeTypeSources(board),
              AllOf(Not(HasSubstr("host")), Not(HasSubstr("adds up")), Not(HasSubstr("toy-net"))));
}

TEST(NodeTypes, StayWithinTheWidth) {
  for (const std::string& text :
       {NodeTypeTable(SampleNodeTypes()), NodeTypeSources(SampleNodeTypes())}) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(line.size(), kTextWidth) << line;
    }
  }
}

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
