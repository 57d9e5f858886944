#include "server/store/calibration_store.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/calibration.h"
#include "server/store/calibration_file.h"
#include "tests/server/fake_probe.h"
#include "tests/server/wire_values.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kStoredUuid[] = "CPU-0123456789abcdef";

std::string StandardPath(const std::string& folder) {
  return CalibrationPath(folder, kStoredUuid, v1::PROBE_MODE_STANDARD);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    out.push_back(entry.path().filename());
  }
  return out;
}

v1::Calibration Measured(const std::string& uuid, int64_t unix_seconds) {
  v1::Calibration calibration = FakeCalibration();
  calibration.mutable_device()->set_uuid(uuid);
  calibration.mutable_measured_time()->set_seconds(unix_seconds);
  return calibration;
}

TEST(CalibrationStore, KeepsAcrossRestarts) {
  const TemporaryFolder folder;
  const std::string nested = folder.File("a/b");  // is created
  std::string fingerprint;
  {
    CalibrationStore store(nested);
    EXPECT_THAT(store.snapshot()->calibrations, IsEmpty());
    const auto kept = store.Keep(FakeCalibration());
    EXPECT_EQ(kept.warning, "");
    fingerprint = kept.stored->fingerprint;
    EXPECT_EQ(fingerprint.size(), 16u);
    store.Keep(Measured("GPU-1", 1'700'000'001));
  }
  struct stat info = {};
  ASSERT_EQ(stat(nested.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_THAT(NamesIn(nested),
              UnorderedElementsAre("CPU-0123456789abcdef.standard.json", "GPU-1.standard.json"));

  CalibrationStore again(nested, "node1");
  ASSERT_EQ(again.snapshot()->calibrations.size(), 2u);
  const StoredCalibration& stored = *again.snapshot()->calibrations[0].by_mode[0];
  EXPECT_TRUE(MessageDifferencer::Equals(stored.calibration, FakeCalibration()));
  EXPECT_EQ(stored.fingerprint, fingerprint);
  // Plans find it before the probe has listed the devices, also where it never does.
  EXPECT_NE(again.snapshot()->FindAll("host"), nullptr);
  EXPECT_NE(again.snapshot()->FindAll("GPU-1"), nullptr);
  again.SetDevices({FakeDevice()});
  EXPECT_NE(again.snapshot()->FindAll("host"), nullptr);
  EXPECT_EQ(again.snapshot()->FindAll("GPU-1"), nullptr);
}

TEST(CalibrationStore, TakesUpWhatIsPutIntoItsFolder) {
  const TemporaryFolder folder;
  CalibrationStore reader(folder.path());
  CalibrationStore writer(folder.path());
  writer.Keep(Measured(kStoredUuid, 1'700'000'000));
  EXPECT_THAT(reader.snapshot()->calibrations, IsEmpty());
  reader.ReadAgain();
  ASSERT_EQ(reader.snapshot()->calibrations.size(), 1u);
  EXPECT_EQ(reader.snapshot()->calibrations[0].device.uuid(), kStoredUuid);
  CalibrationStore("").ReadAgain();
}

TEST(CalibrationStore, TakesNoOtherHostsDeviceForItsOwn) {
  const TemporaryFolder folder;
  {
    CalibrationStore store(folder.path());
    v1::Calibration foreign = Measured("CPU-0000000000000000", 1'700'000'000);  // loaded first
    foreign.mutable_device()->set_hostname("node2");
    store.Keep(foreign);
    v1::Calibration nameless = Measured("CPU-0000000000000001", 1'700'000'000);
    nameless.mutable_device()->clear_hostname();
    store.Keep(nameless);
    store.Keep(FakeCalibration());
  }
  const CalibrationStore ours(folder.path(), "node1");
  EXPECT_EQ(ours.snapshot()->calibrations.size(), 3u);
  ASSERT_EQ(ours.snapshot()->devices.size(), 1u);
  ASSERT_NE(ours.snapshot()->FindAll("host"), nullptr);
  EXPECT_EQ(ours.snapshot()->FindAll("host")->device.uuid(), kStoredUuid);
  EXPECT_EQ(ours.snapshot()->FindAll("CPU-0000000000000000"), nullptr);
  for (const char* hostname : {"node3", ""}) {
    const CalibrationStore none(folder.path(), hostname);
    EXPECT_TRUE(none.snapshot()->devices.empty()) << hostname;
    EXPECT_EQ(none.snapshot()->FindAll("host"), nullptr) << hostname;
  }
}

TEST(CalibrationStore, ReplacesTheFormerOneOfADeviceAndMode) {
  const TemporaryFolder folder;
  CalibrationStore store(folder.path());
  store.Keep(Measured(kStoredUuid, 1));
  const auto before = store.snapshot();
  store.Keep(Measured(kStoredUuid, 2));
  ASSERT_EQ(store.snapshot()->calibrations.size(), 1u);
  const auto seconds = [](const CalibrationSnapshot& snapshot) {
    return snapshot.calibrations[0].by_mode[0]->calibration.measured_time().seconds();
  };
  EXPECT_EQ(store.snapshot()->calibrations[0].by_mode.size(), 1u);
  EXPECT_EQ(seconds(*store.snapshot()), 2);
  // A plan that is being computed keeps its snapshot.
  EXPECT_EQ(seconds(*before), 1);
}

TEST(CalibrationStore, FindsCalibrationsOfTheHostsDevicesAlone) {
  CalibrationStore store("");
  store.Keep(Measured(kStoredUuid, 1));
  EXPECT_EQ(store.snapshot()->FindAll("host"), nullptr);
  store.SetDevices({FakeDevice()});
  EXPECT_NE(store.snapshot()->FindAll("host"), nullptr);
  EXPECT_NE(store.snapshot()->FindAll(kStoredUuid), nullptr);
  store.Keep(Measured("GPU-gone", 1));
  EXPECT_EQ(store.snapshot()->FindAll("GPU-gone"), nullptr);
  EXPECT_EQ(store.snapshot()->devices.size(), 1u);
}

struct BadFile {
  const char* name;
  std::string content;
  const char* set_aside;
  const char* reason;
};

v1::Calibration ChangedFile(void (*change)(v1::Calibration&)) {
  v1::Calibration calibration = FakeCalibration();
  change(calibration);
  return calibration;
}

std::vector<BadFile> BadFiles() {
  const std::string good = JsonOf(FakeCalibration());
  const auto field = [](void (*change)(v1::Calibration&)) { return JsonOf(ChangedFile(change)); };
  return {
      {"Empty", "", "damaged-1", "not a calibration"},
      {"Truncated", good.substr(0, good.size() / 2), "damaged-1", "not a calibration"},
      {"NotJson", std::string("\0\xff garbage", 10), "damaged-1", "not a calibration"},
      {"NoFields", "{}", "damaged-1", "schema_version"},
      {"NoTime", field([](v1::Calibration& c) { c.clear_measured_time(); }), "damaged-1",
       "measured_time"},
      {"Infinite", field([](v1::Calibration& c) { c.set_duration_seconds(1.0 / 0.0); }),
       "damaged-1", "duration_seconds"},
      {"Negative",
       field([](v1::Calibration& c) { c.mutable_streams(0)->set_bytes_per_second(-1); }),
       "damaged-1", "bytes_per_second"},
      {"OtherDevice", field([](v1::Calibration& c) { c.mutable_device()->set_uuid("GPU-1"); }),
       "damaged-1", "of device GPU-1"},
      {"PathAsUuid", field([](v1::Calibration& c) { c.mutable_device()->set_uuid("../x"); }),
       "damaged-1", "device"},
      {"OtherMode", field([](v1::Calibration& c) { c.set_mode(v1::PROBE_MODE_QUICK); }),
       "damaged-1", "of mode quick"},
      {"TooLarge", std::string((4 << 20) + 1, ' '), "damaged-1", "more than 4194304 bytes"},
      {"Newer", "{\"schemaVersion\":3,\"mood\":{\"good\":true}}", "newer-1", "schema version 3"},
  };
}

TEST(CalibrationStore, SetsAsideWhatItCannotUse) {
  for (const BadFile& bad : BadFiles()) {
    const TemporaryFolder folder;
    const std::string path = StandardPath(folder.path());
    WriteFile(path, bad.content);
    ::testing::internal::CaptureStderr();
    CalibrationStore store(folder.path());
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(store.snapshot()->calibrations, IsEmpty()) << bad.name;
    const std::string aside = absl::StrCat(path, ".", bad.set_aside);
    EXPECT_THAT(NamesIn(folder.path()),
                ElementsAre(absl::StrCat(kStoredUuid, ".standard.json.", bad.set_aside)))
        << bad.name;
    EXPECT_EQ(ReadFile(aside), bad.content) << bad.name;
    const auto line = nlohmann::json::parse(log);
    EXPECT_EQ(line["event"], "calibration_set_aside") << bad.name;
    EXPECT_EQ(line["file"], path);
    EXPECT_EQ(line["renamed_to"], aside);
    EXPECT_THAT(line["reason"].get<std::string>(), HasSubstr(bad.reason)) << bad.name;
  }
}

// A line that is too long for a pipe would be dropped.
TEST(CalibrationStore, SaysSoHoweverMuchIsWrong) {
  const TemporaryFolder folder;
  std::string deep = folder.path();
  for (int i = 0; i < 8; ++i) deep += "/" + std::string(200, 'd');
  std::filesystem::create_directories(deep);
  v1::Calibration calibration = FakeCalibration();
  calibration.clear_measured_time();
  for (int i = 0; i < 20; ++i) *calibration.add_matmuls() = v1::MatmulMeasurement();
  WriteFile(StandardPath(deep), JsonOf(calibration));
  ::testing::internal::CaptureStderr();
  const CalibrationStore store(deep);
  const auto line = nlohmann::json::parse(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(line["event"], "calibration_set_aside");
  EXPECT_THAT(line["reason"].get<std::string>(), HasSubstr("measured_time"));
}

TEST(CalibrationStore, LeavesAloneWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  CalibrationStore(folder.path()).Keep(FakeCalibration());
  WriteFile(folder.File("notes.json"), "{}");
  WriteFile(folder.File("b a d.json"), "{}");
  WriteFile(folder.File("README"), "mine");
  ASSERT_EQ(mkdir(folder.File("GPU-1.json").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo(folder.File("GPU-2.json").c_str(), 0600), 0);
  ASSERT_EQ(symlink("notes.json", folder.File("GPU-3.json").c_str()), 0);
  ::testing::internal::CaptureStderr();
  const CalibrationStore store(folder.path());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(store.snapshot()->calibrations.size(), 1u);
  EXPECT_THAT(NamesIn(folder.path()),
              UnorderedElementsAre("CPU-0123456789abcdef.standard.json", "notes.json", "b a d.json",
                                   "README", "GPU-1.json", "GPU-2.json", "GPU-3.json"));
}

TEST(CalibrationStore, NeverOverwritesWhatWasSetAside) {
  const TemporaryFolder folder;
  const std::string path = StandardPath(folder.path());
  for (const char* content : {"first", "second", "third"}) {
    WriteFile(path, content);
    ::testing::internal::CaptureStderr();
    const CalibrationStore store(folder.path());
    ::testing::internal::GetCapturedStderr();
  }
  EXPECT_EQ(ReadFile(path + ".damaged-1"), "first");
  EXPECT_EQ(ReadFile(path + ".damaged-2"), "second");
  EXPECT_EQ(ReadFile(path + ".damaged-3"), "third");
}

TEST(CalibrationStore, WarnsWhereItCannotWrite) {
  const TemporaryFolder folder;
  WriteFile(folder.File("file"), "");
  for (const auto& [where, why] :
       {std::pair<std::string, std::string>("", "--calibration_directory"),
        {folder.File("file"), "Not a directory"},
        {folder.File("file/below"), "Not a directory"},
        {"/proc/sextant", "can't make the folder"}}) {
    CalibrationStore store(where);
    const auto kept = store.Keep(FakeCalibration());
    EXPECT_THAT(kept.warning, HasSubstr(why));
    EXPECT_THAT(kept.warning, HasSubstr("until the server stops"));
    EXPECT_EQ(store.snapshot()->calibrations.size(), 1u) << "is not in use";
  }
}

TEST(CalibrationStore, NeverLetsAUuidOutOfItsFolder) {
  const TemporaryFolder folder;
  CalibrationStore store(folder.File("inner"));
  for (const char* uuid : {"../outside", "a/b", "..", ".", "x.json", "a b", "caf\xc3\xa9"}) {
    EXPECT_THAT(store.Keep(Measured(uuid, 1)).warning, HasSubstr("can't name a file")) << uuid;
    store.Distrust(uuid);
  }
  EXPECT_THAT(store.Keep(Measured(std::string(81, 'x'), 1)).warning, HasSubstr("can't name"));
  EXPECT_THAT(NamesIn(folder.path()), IsEmpty());
}

TEST(CalibrationStore, ForgetsWhatAWrongResultHasProvenFalse) {
  const TemporaryFolder folder;
  CalibrationStore store(folder.path());
  store.Keep(FakeCalibration());
  EXPECT_THAT(store.snapshot()->distrusted, IsEmpty());
  ::testing::internal::CaptureStderr();
  store.Distrust(kStoredUuid);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("wrong result"));
  EXPECT_THAT(store.snapshot()->distrusted, ElementsAre(kStoredUuid));
  EXPECT_THAT(store.snapshot()->calibrations, IsEmpty());
  EXPECT_THAT(NamesIn(folder.path()),
              UnorderedElementsAre("CPU-0123456789abcdef.distrusted",
                                   "CPU-0123456789abcdef.standard.json.mismatch-1"));
  store.Distrust(kStoredUuid);  // nothing is left to set aside
  store.Keep(FakeCalibration());
  EXPECT_THAT(store.snapshot()->distrusted, IsEmpty());
  EXPECT_THAT(NamesIn(folder.path()),
              UnorderedElementsAre("CPU-0123456789abcdef.standard.json",
                                   "CPU-0123456789abcdef.standard.json.mismatch-1"));
  EXPECT_THAT(CalibrationStore(folder.path()).snapshot()->distrusted, IsEmpty());
}

TEST(CalibrationStore, DistrustsOverARestart) {
  const TemporaryFolder folder;
  CalibrationStore(folder.path()).Distrust(kStoredUuid);  // never measured before
  // The state that a crash leaves between the mark and the file's withdrawal.
  WriteFile(StandardPath(folder.path()), JsonOf(FakeCalibration()));
  ::testing::internal::CaptureStderr();
  CalibrationStore store(folder.path());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("device_distrusted"));
  EXPECT_THAT(store.snapshot()->distrusted, ElementsAre(kStoredUuid));
  EXPECT_THAT(store.snapshot()->calibrations, IsEmpty());
  EXPECT_THAT(NamesIn(folder.path()),
              UnorderedElementsAre("CPU-0123456789abcdef.distrusted",
                                   "CPU-0123456789abcdef.standard.json.mismatch-1"));
}

TEST(CalibrationStore, RemovesOldLeftoversOfKilledWriters) {
  const TemporaryFolder folder;
  const std::string old_file = folder.File("GPU-1.full.json.tmp-aaaaaa");
  WriteFile(old_file, "{");
  const std::string older_file = folder.File("GPU-1.json.tmp-aaaaaa");  // a former version's
  WriteFile(older_file, "{");
  const std::string not_ours = folder.File("notes.json.tmp-of-mine");
  WriteFile(not_ours, "{");
  const time_t two_hours_ago = time(nullptr) - 7200;
  const timeval times[] = {{.tv_sec = two_hours_ago, .tv_usec = 0},
                           {.tv_sec = two_hours_ago, .tv_usec = 0}};
  ASSERT_EQ(utimes(old_file.c_str(), times), 0);
  ASSERT_EQ(utimes(older_file.c_str(), times), 0);
  ASSERT_EQ(utimes(not_ours.c_str(), times), 0);
  WriteFile(folder.File("GPU-1.quick.json.tmp-bbbbbb"), "{");  // may be being written
  const CalibrationStore store(folder.path());
  EXPECT_THAT(NamesIn(folder.path()),
              UnorderedElementsAre("GPU-1.quick.json.tmp-bbbbbb", "notes.json.tmp-of-mine"));
}

TEST(CalibrationFile, TellsUnreadableFromDamaged) {
  const TemporaryFolder folder;
  const std::string path = StandardPath(folder.path());
  EXPECT_EQ(ReadCalibrationFile(path).status().code(), absl::StatusCode::kUnavailable);
  WriteFile(path, "");
  EXPECT_EQ(ReadCalibrationFile(path).status().code(), absl::StatusCode::kDataLoss);
}

TEST(CalibrationFile, OfAFormerVersionIsRead) {
  const TemporaryFolder folder;
  const std::string path = CalibrationPath(folder.path(), kStoredUuid, v1::PROBE_MODE_FULL);
  std::filesystem::copy_file(SourceFolder() + "/tests/support/former_calibration.json", path);
  const absl::StatusOr<v1::Calibration> read = ReadCalibrationFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attentions(3).training_pass(), v1::AttentionMeasurement::PASS_BACKWARD);
}

// Root may read everything, so the test runs as another user while this lives.
class Unprivileged {
 public:
  // Makes that user the owner of `folder`.
  explicit Unprivileged(const std::string& folder) {
    if (geteuid() != 0) return;
    EXPECT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(seteuid(kNobody), 0);
  }
  ~Unprivileged() { EXPECT_EQ(seteuid(getuid()), 0); }

 private:
  static constexpr uid_t kNobody = 65534;
};

// The file may be readable at the next start.
TEST(CalibrationStore, LeavesInPlaceWhatItMayNotRead) {
  const TemporaryFolder folder;
  const std::string path = StandardPath(folder.path());
  const Unprivileged unprivileged(folder.path());
  WriteFile(path, JsonOf(FakeCalibration()));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ::testing::internal::CaptureStderr();
  CalibrationStore store(folder.path());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("can't be read"));
  EXPECT_THAT(store.Keep(FakeCalibration()).warning, HasSubstr("start the server again"));
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("CPU-0123456789abcdef.standard.json"));
}

}  // namespace
}  // namespace sextant::server
