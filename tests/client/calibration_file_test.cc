#include "client/calibration_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/proto_json.h"
#include "tests/client/sample_calibration.h"

namespace sextant {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

// A new folder, removed with its files.
class Folder {
 public:
  Folder() {
    std::string name = absl::StrCat(::testing::TempDir(), "/sextant_calibration_XXXXXX");
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string File(const std::string& name) const { return path_ / name; }
  size_t Count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

v1::Calibration Read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  v1::Calibration calibration;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text.str(), &calibration).ok());
  return calibration;
}

TEST(SaveCalibration, WritesWhatReadsBackAsIt) {
  const Folder folder;
  const std::string file = folder.File("c.json");
  ASSERT_TRUE(SaveCalibration(file, SampleCalibration()).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Read(file), SampleCalibration()));
  EXPECT_EQ(folder.Count(), 1u);  // nothing beside it
}

TEST(SaveCalibration, ReplacesWhatWasThere) {
  const Folder folder;
  const std::string file = folder.File("c.json");
  std::ofstream(file) << std::string(100'000, 'x');
  ASSERT_TRUE(SaveCalibration(file, SampleCalibration()).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(Read(file), SampleCalibration()));
}

TEST(SaveCalibration, FollowsALink) {
  const Folder folder;
  std::ofstream(folder.File("target.json")) << "old";
  std::filesystem::create_symlink("target.json", folder.File("link.json"));
  ASSERT_TRUE(SaveCalibration(folder.File("link.json"), SampleCalibration()).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link.json")));
  EXPECT_TRUE(MessageDifferencer::Equals(Read(folder.File("target.json")), SampleCalibration()));
}

// To rename a file over /dev/null would be the end of it, for root.
TEST(SaveCalibration, RefusesWhatIsNoFile) {
  const Folder folder;
  for (const std::string& name : {std::string("/dev/null"), folder.File("")}) {
    const absl::Status saved = SaveCalibration(name, SampleCalibration());
    EXPECT_EQ(saved.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(std::string(saved.message()), HasSubstr("it is no regular file; name another"));
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(SaveCalibration, SaysWhyItCannotWrite) {
  const Folder folder;
  const absl::Status saved = SaveCalibration(folder.File("none/c.json"), SampleCalibration());
  EXPECT_EQ(saved.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(saved.message()), HasSubstr("none/c.json: No such file or directory"));
  EXPECT_FALSE(SaveCalibration("", SampleCalibration()).ok());
}

TEST(UnwrapCalibration, TakesItOutOfAnAnswer) {
  for (const std::string& json :
       {ProtoJson(SampleHeldCalibration()), ProtoJson(SampleProbeResult().result())}) {
    EXPECT_EQ(UnwrapCalibration(json), ProtoJson(SampleCalibration()));
  }
}

TEST(UnwrapCalibration, LeavesAllElseAsItIs) {
  for (const std::string& text :
       {ProtoJson(SampleCalibration()), std::string("{}"), std::string("no JSON"), std::string()}) {
    EXPECT_EQ(UnwrapCalibration(text), text);
  }
}

}  // namespace
}  // namespace sextant
