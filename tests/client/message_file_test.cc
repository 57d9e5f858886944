#include "client/io/message_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/client/sample_answers.h"
#include "tests/support/source_folder.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t FileCount(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

v1::Calibration Read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  v1::Calibration calibration;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text.str(), &calibration).ok());
  return calibration;
}

TEST(SaveCalibration, WritesWhatReadsBackAsIt) {
  const TemporaryFolder folder;
  const std::string file = folder.File("c.json");
  ASSERT_TRUE(SaveCalibration(file, SampleCalibration()).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Read(file), SampleCalibration()));
  EXPECT_EQ(FileCount(folder), 1u);  // no other file
}

TEST(SaveCalibration, ReplacesWhatWasThere) {
  const TemporaryFolder folder;
  const std::string file = folder.File("c.json");
  std::ofstream(file) << std::string(100'000, 'x');
  ASSERT_TRUE(SaveCalibration(file, SampleCalibration()).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Read(file), SampleCalibration()));
}

TEST(SaveCalibration, FollowsALink) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("target.json")) << "old";
  std::filesystem::create_symlink("target.json", folder.File("link.json"));
  ASSERT_TRUE(SaveCalibration(folder.File("link.json"), SampleCalibration()).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link.json")));
  EXPECT_TRUE(MessageDifferencer::Equals(Read(folder.File("target.json")), SampleCalibration()));
}

// To rename a file over /dev/null would be the end of it, for root.
TEST(SaveCalibration, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  for (const std::string& name : {std::string("/dev/null"), folder.File("")}) {
    const absl::Status saved = SaveCalibration(name, SampleCalibration());
    EXPECT_EQ(saved.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(std::string(saved.message()), HasSubstr("it is not a regular file; name another"));
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(SaveCalibration, SaysWhyItCannotWrite) {
  const TemporaryFolder folder;
  const absl::Status saved = SaveCalibration(folder.File("none/c.json"), SampleCalibration());
  EXPECT_EQ(saved.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(saved.message()), HasSubstr("none/c.json: No such file or directory"));
  EXPECT_FALSE(SaveCalibration("", SampleCalibration()).ok());
}

TEST(ReadCalibration, TakesItBareAndOutOfAnAnswer) {
  for (const std::string& json :
       {ProtoJson(SampleCalibration()), ProtoJson(SampleHeldCalibration()),
        ProtoJson(SampleProbeResult().result())}) {
    const auto read = ReadCalibration(json);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(MessageDifferencer::Equals(*read, SampleCalibration()));
  }
}

TEST(ReadCalibration, TakesOneOfAFormerVersion) {
  std::ostringstream text;
  text << std::ifstream(SourceFolder() + "/tests/support/former_calibration.json").rdbuf();
  const auto read = ReadCalibration(text.str());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attentions(3).training_pass(), v1::AttentionMeasurement::PASS_BACKWARD);
}

// The server refuses a newer schema, and says so better than a parser does.
TEST(ReadCalibration, PassesOverWhatOnlyANewerVersionHas) {
  const std::string newer =
      R"({"schema_version": 2, "hyperdrive": {"on": true}, "mode": "PROBE_MODE_ENDLESS",
          "device": {"uuid": "CPU-1", "colour": "red"}})";
  for (const std::string& json :
       {newer, absl::StrCat("{\"calibration\": ", newer, ", \"age_seconds\": 5}"),
        absl::StrCat("{\"calibration\": ", newer, ", \"in_use\": true, \"mood\": \"good\"}")}) {
    const auto read = ReadCalibration(json);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->schema_version(), 2);
    EXPECT_EQ(read->device().uuid(), "CPU-1");
  }
}

// An object of unknown fields alone is something else, or mistyped.
TEST(ReadCalibration, RefusesAllElse) {
  for (const char* text : {"", "[]", "5", "no JSON", R"({"devise": {}})", R"({"calibration": 5})",
                           R"({"calibration": {"mode": "PROBE_MODE_FAST"}})",
                           R"({"schema_version": 1, "device": 5})"}) {
    const absl::Status status = ReadCalibration(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not a sextant.v1.Calibration")) << text;
  }
}

TEST(ReadCalibration, SaysThatAStreamIsSeveralObjects) {
  const std::string one = ProtoJson(SampleCalibration());
  for (const std::string& text :
       {absl::StrCat(one, one), absl::StrCat("{\"progress\": {\"phase\": \"}\\\"{\"}}\n", one)}) {
    EXPECT_THAT(std::string(ReadCalibration(text).status().message()),
                AllOf(HasSubstr("several JSON objects"), HasSubstr("sextant-probe --output=FILE")));
  }
  // Braces in texts are none, and neither are those of an object cut off.
  for (const char* text : {R"({"notes": ["}{", "\"}{"], "devise": 1})", "{\"device\": {"}) {
    EXPECT_THAT(std::string(ReadCalibration(text).status().message()),
                Not(HasSubstr("several JSON objects")));
  }
}

}  // namespace
}  // namespace sextant::client
