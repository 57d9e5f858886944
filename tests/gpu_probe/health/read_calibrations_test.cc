#include "gpu_probe/health/read_calibrations.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "proto/matmul_kind.h"
#include "tests/gpu_probe/health/synthetic.h"
#include "tests/support/matmul_kinds.h"
#include "tests/support/source_folder.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReadCalibrationsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }
  std::string Write(const std::string& name, const v1::Calibration& calibration) {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(calibration, &json).ok());
    return Write(name, json);
  }
  static ReadResult Read(const std::vector<std::string>& paths, ReadOptions options = {}) {
    options.now_unix_seconds = kNow;
    return ReadCalibrations(paths, options);
  }
  // Why the one that `change` was made to is refused.
  template <typename Change>
  std::string ReasonWith(Change change) {
    v1::Calibration calibration = CalibrationOf({});
    change(calibration);
    const ReadResult result = Read({Write("x.json", calibration)});
    EXPECT_THAT(result.measured, IsEmpty());
    EXPECT_EQ(result.problems.size(), 1u);
    if (result.problems.size() != 1) return "";
    EXPECT_EQ(result.problems[0].status, HealthStatus::kUnknown);
    return result.problems[0].reason;
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(ReadCalibrationsTest, AFolderHasAllItsJsonFiles) {
  Write("b.json", CalibrationOf({.uuid = "GPU-2"}));
  Write("a.json", CalibrationOf({.uuid = "GPU-1"}));
  Write("a.json.damaged-1", "set aside by the server");
  Write("notes.txt", "no calibration");
  const ReadResult result = Read({folder_});
  EXPECT_THAT(result.problems, IsEmpty());
  ASSERT_EQ(result.measured.size(), 2u);
  EXPECT_EQ(result.measured[0].device().uuid(), "GPU-1");
  EXPECT_EQ(result.measured[0].figures.size(), size_t{kFigureCount});
}

TEST_F(ReadCalibrationsTest, OneOfAFormerVersionIsRead) {
  const ReadResult result = Read({SourceFolder() + "/tests/support/former_calibration.json"});
  EXPECT_THAT(result.problems, IsEmpty());
  ASSERT_EQ(result.measured.size(), 1u);
  EXPECT_EQ(result.measured[0].calibration.attentions(3).training_pass(),
            v1::AttentionMeasurement::PASS_BACKWARD);
}

TEST_F(ReadCalibrationsTest, WhatIsNotThereIsAProblem) {
  EXPECT_THAT(Read({folder_ + "/no.json"}).problems[0].reason, HasSubstr("No such file"));
  EXPECT_THAT(Read({folder_}).problems[0].reason, HasSubstr("no calibration"));
  EXPECT_THAT(Read({folder_}, {.may_be_empty = true}).problems, IsEmpty());
  EXPECT_EQ(mkfifo((folder_ + "/pipe.json").c_str(), 0600), 0);
  EXPECT_THAT(Read({folder_}).problems[0].reason, HasSubstr("not a file")) << "and did not wait";
}

TEST_F(ReadCalibrationsTest, DamagedFilesAreProblems) {
  for (const char* content : {"", "{", "[]", "no JSON", "\x01\xff"}) {
    EXPECT_THAT(Read({Write("x.json", content)}).problems[0].reason,
                HasSubstr("not a calibration in JSON"))
        << content;
  }
  EXPECT_THAT(Read({Write("x.json", "{}")}).problems[0].reason,
              HasSubstr("schema_version is required"));
  EXPECT_THAT(Read({Write("x.json", std::string(5 << 20, ' '))}).problems[0].reason,
              HasSubstr("more than 4194304 bytes"));
}

// tests/server/check_calibration_test.cc has each field that check::CheckCalibration() refuses.
TEST_F(ReadCalibrationsTest, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(
      ReasonWith([](v1::Calibration& c) { c.mutable_matmuls(0)->set_flops_per_second(-1); }),
      HasSubstr("matmuls[0].flops_per_second must be a number from 1 to 1e+18"));
  EXPECT_THAT(
      ReasonWith([](v1::Calibration& c) { c.mutable_streams(0)->set_bytes_per_second(2e12); }),
      HasSubstr("streams[0].bytes_per_second is 2000000000000, but the fields next to it give "
                "3000000000000"));
  EXPECT_THAT(
      ReasonWith([](v1::Calibration& c) { c.set_schema_version(3); }),
      HasSubstr("schema_version is 3, newer than this sextant-probe, which reads 2: use a newer "
                "sextant-probe"));
  EXPECT_THAT(ReasonWith([](v1::Calibration& c) {
                c.clear_matmuls();
                c.clear_streams();
                c.clear_elementwise();
              }),
              HasSubstr("no rate to judge"));
}

TEST_F(ReadCalibrationsTest, TheFutureIsRefused) {
  EXPECT_THAT(
      ReasonWith([](v1::Calibration& c) { c.mutable_measured_time()->set_seconds(kNow + 301); }),
      HasSubstr("from the future, by 301 s"));
  v1::Calibration ahead = CalibrationOf({.unix_seconds = kNow + 300});
  EXPECT_EQ(Read({Write("x.json", ahead)}).measured.size(), 1u) << "clocks differ a little";
}

TEST_F(ReadCalibrationsTest, ShapesThatWereAskedForArePassedOver) {
  v1::Calibration calibration = CalibrationOf({});
  RemoveMatmuls(IsSustained, &calibration);
  calibration.clear_streams();
  calibration.clear_elementwise();
  for (v1::MatmulMeasurement& m : *calibration.mutable_matmuls()) {
    m.set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  }
  const ReadResult result = Read({Write("x.json", calibration)});
  EXPECT_THAT(result.measured, IsEmpty());
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("only shapes that were asked for")));
}

TEST_F(ReadCalibrationsTest, AWithdrawnCalibrationIsNotForgotten) {
  Write("GPU-1.json", CalibrationOf({.uuid = "GPU-1"}));
  Write("GPU-2.distrusted", "");
  const ReadResult result = Read({folder_});
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.problems[0].status, HealthStatus::kCritical);
  EXPECT_THAT(result.problems[0].reason, HasSubstr("GPU-2 had a wrong result"));
  EXPECT_THAT(Read({folder_}, {.only_uuid = "GPU-1"}).problems, IsEmpty());
}

}  // namespace
}  // namespace sextant::probe
