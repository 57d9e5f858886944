#include "client/probe_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sextant {
namespace {

using ::testing::HasSubstr;

TEST(ReadShape, ReadsSizesAndType) {
  v1::MatmulShape shape;
  ASSERT_TRUE(ReadShape("16384x32768x8192", "bf16", &shape).ok());
  EXPECT_EQ(shape.m(), 16384);
  EXPECT_EQ(shape.n(), 32768);
  EXPECT_EQ(shape.k(), 8192);
  EXPECT_EQ(shape.data_type(), v1::DATA_TYPE_BF16);
  // Its own type beside the default; ranges are the server's.
  ASSERT_TRUE(ReadShape("0x1x9223372036854775807:INT8", "bf16", &shape).ok());
  EXPECT_EQ(shape.m(), 0);
  EXPECT_EQ(shape.data_type(), v1::DATA_TYPE_INT8);
}

struct BadProbe {
  const char* text;
  const char* expect;  // in the message
};

TEST(ReadShape, SaysWhatToWrite) {
  const BadProbe cases[] = {
      {"", "is not three whole numbers; write MxNxK or MxNxK:TYPE, such as 16384x32768x8192:bf16"},
      {"1x2", "is not three whole numbers"},
      {"1x2x3x4", "is not three whole numbers"},
      {"1x2x", "is not three whole numbers"},
      {"1X2X3", "is not three whole numbers"},
      {"-1x2x3", "is not three whole numbers"},
      {"1x2x3.5", "is not three whole numbers"},
      {"1x2xnan", "is not three whole numbers"},
      {" 1x2x3", "is not three whole numbers"},
      // 4000 or 4096?
      {"4Kx2x3", "is not three whole numbers"},
      {"1x2x9223372036854775808", "does not fit in 64 bits"},
      {"1x2x3:", "has no data type known here"},
      {"1x2x3:fp7", "has no data type known here; write MxNxK or MxNxK:TYPE"},
      {"1x2x3:bf16:", "has no data type known here"},
  };
  for (const BadProbe& c : cases) {
    v1::MatmulShape shape;
    const absl::Status read = ReadShape(c.text, "bf16", &shape);
    EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(read.message()), HasSubstr(c.expect)) << c.text;
  }
}

TEST(ReadProbeRequest, SetsNothingThatWasNotGiven) {
  v1::RunProbeRequest request;
  ASSERT_TRUE(ReadProbeRequest({}, &request).ok());
  EXPECT_EQ(request.ByteSizeLong(), 0u);
}

TEST(ReadProbeRequest, FillsEveryField) {
  v1::RunProbeRequest request;
  ASSERT_TRUE(ReadProbeRequest({.mode = "full",
                                .device_uuids = {"host", "GPU-1"},
                                .shapes = {"1x2x3", "4x5x6:int8"},
                                .data_type = "fp32"},
                               &request)
                  .ok());
  EXPECT_EQ(request.mode(), v1::PROBE_MODE_FULL);
  ASSERT_EQ(request.device_uuids_size(), 2);
  EXPECT_EQ(request.device_uuids(1), "GPU-1");
  ASSERT_EQ(request.matmuls_size(), 2);
  EXPECT_EQ(request.matmuls(0).data_type(), v1::DATA_TYPE_FP32);
  EXPECT_EQ(request.matmuls(1).data_type(), v1::DATA_TYPE_INT8);
  EXPECT_EQ(request.matmuls(1).k(), 6);
}

TEST(ProbeTimeout, GrowsWithTheWork) {
  EXPECT_EQ(ProbeTimeoutSeconds({}), 8 * 60);
  EXPECT_EQ(ProbeTimeoutSeconds({.mode = "quick", .device_uuids = {"host"}}), 60);
  EXPECT_EQ(ProbeTimeoutSeconds({.mode = "full", .device_uuids = {"host"}}), 120);
  EXPECT_EQ(ProbeTimeoutSeconds({.device_uuids = {"host"}, .shapes = {"1x2x3"}}), 360);
  EXPECT_EQ(ProbeTimeoutSeconds({.mode = "full", .device_uuids = {"a", "b"}}), 240);
}

}  // namespace
}  // namespace sextant
