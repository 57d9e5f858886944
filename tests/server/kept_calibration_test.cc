// Calibrations that outlast a server: restarts, writers that are killed, full disks, and clocks
// that are set back.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "server/convert/calibration.h"
#include "server/probe/child_process.h"
#include "server/store/calibration_file.h"
#include "server/store/calibration_store.h"
#include "sextant/v1/hardware_service.pb.h"
#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/test_server.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ServerOptions KeepingIn(const TemporaryFolder& folder) {
  ServerOptions options = TestServer::Options();
  options.calibration_directory = folder.File("calibrations");
  return options;
}

TEST(KeptCalibration, SurvivesARestart) {
  const TemporaryFolder folder;
  ServerOptions options = KeepingIn(folder);
  options.probe_program =
      WriteScript(folder, "probe", ListsAnd(WriteCalibration(FakeCalibration())));
  std::string fingerprint;
  for (int start = 0; start < 2; ++start) {
    const TestServer server(options);
    if (start == 0) {
      grpc::ClientContext context;
      const auto reader = server.hardware().RunProbe(&context, {});
      v1::RunProbeResponse response;
      while (reader->Read(&response)) fingerprint = response.result().fingerprint();
      ASSERT_TRUE(reader->Finish().ok());
    }
    grpc::ClientContext context;
    v1::GetCalibrationResponse response;
    v1::GetCalibrationRequest request;
    request.set_device("host");
    ASSERT_TRUE(server.hardware().GetCalibration(&context, request, &response).ok());
    EXPECT_EQ(response.fingerprint(), fingerprint);
    EXPECT_GT(response.age_seconds(), 0);
  }
}

v1::PlanRunRequest RunOnTheHost() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_parameter_count(1'000'000'000);
  request.mutable_training()->set_token_count(20'000'000'000);
  request.mutable_cluster()->mutable_device()->mutable_host_devices()->add_devices("host");
  request.mutable_cluster()->set_device_count(1);
  return request;
}

// A plan needs no probe once there is a calibration, and uses none of another host.
TEST(KeptCalibration, IsPlannedWithWhereThereIsNoProbe) {
  const struct {
    const char* name;
    std::string hostname;
    grpc::StatusCode expected;
  } cases[] = {{"ours", Hostname(), grpc::StatusCode::OK},
               {"another's", Hostname() + "-2", grpc::StatusCode::NOT_FOUND}};
  for (const auto& c : cases) {
    const TemporaryFolder folder;
    const ServerOptions options = KeepingIn(folder);
    v1::Calibration calibration = FakeCalibration();
    calibration.mutable_device()->set_hostname(c.hostname);
    const std::string fingerprint =
        CalibrationStore(options.calibration_directory).Keep(calibration).stored->fingerprint;
    const TestServer server(options);
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(RunOnTheHost(), &response);
    EXPECT_EQ(status.error_code(), c.expected) << c.name << ": " << status.error_message();
    int measured_count = 0;
    for (const v1::RateUsed& rate : response.plan().rates()) {
      if (rate.source() != v1::RATE_SOURCE_MEASURED_DEVICE) continue;
      ++measured_count;
      EXPECT_EQ(rate.calibration_fingerprint(), fingerprint);
    }
    EXPECT_EQ(measured_count > 0, status.ok()) << c.name;
  }
}

constexpr int kKills = 40;

// Waits until the writer has reported `count` kept calibrations.
void AwaitKept(const ChildProcess& writer, int count) {
  for (int i = 0; i < count; ++i) {
    char said;
    pollfd readable = {.fd = writer.stdout_fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, -1), 1);
    ASSERT_EQ(read(writer.stdout_fd(), &said, 1), 1);
  }
}

TEST(CalibrationStore, SurvivesKillsOfItsWriter) {
  const TemporaryFolder folder;
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "calibration_writer";
  std::mt19937 random(20261121);
  std::uniform_int_distribution<int> counts(1, 20);
  for (int i = 0; i < kKills; ++i) {
    auto writer = ChildProcess::Start(program, {folder.path()});
    ASSERT_THAT(writer, IsOk());
    AwaitKept(*writer, counts(random));
    writer->Kill();
    ASSERT_TRUE(writer->End().has_value());

    ::testing::internal::CaptureStderr();
    const CalibrationStore store(folder.path());
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "kill " << i;
    ASSERT_EQ(store.snapshot()->calibrations.size(), 1u) << "kill " << i;
  }
}

// No file takes more than some bytes while this lives, as where the disk is full.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);  // then a write fails, as on a full disk
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit little = {.rlim_cur = 100, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_ = {};
};

TEST(CalibrationStore, LeavesTheFormerOneWhereTheDiskIsFull) {
  const TemporaryFolder folder;
  CalibrationStore store(folder.path());
  EXPECT_EQ(store.Keep(FakeCalibration()).warning, "");
  v1::Calibration next = FakeCalibration();
  next.mutable_measured_time()->set_seconds(next.measured_time().seconds() + 1);
  {
    const FullDisk full;
    EXPECT_THAT(store.Keep(next).warning, HasSubstr("write"));
  }
  // In use until a restart; nothing half-written is left.
  EXPECT_TRUE(
      MessageDifferencer::Equals(store.snapshot()->calibrations[0].by_mode[0]->calibration, next));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  const CalibrationStore again(folder.path());
  ASSERT_EQ(again.snapshot()->calibrations.size(), 1u);
  EXPECT_TRUE(MessageDifferencer::Equals(again.snapshot()->calibrations[0].by_mode[0]->calibration,
                                         FakeCalibration()));
}

constexpr int64_t kSampleInstant = 1'769'860'800;  // 2026-01-31T12:00:00Z, and 5 ns

std::vector<FieldViolation> FaultsAt(const v1::Calibration& calibration, absl::Time now) {
  FieldViolations violations;
  CheckNotAhead(calibration, "c", now, violations);
  return violations.all();
}

TEST(CalibrationClock, MayBeFiveMinutesAhead) {
  const v1::Calibration sample = SampleCalibration();
  const absl::Time measured = absl::FromUnixSeconds(kSampleInstant) + absl::Nanoseconds(5);
  EXPECT_THAT(FaultsAt(sample, measured + absl::Hours(1)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5) - absl::Nanoseconds(1)),
              ElementsAre(FieldViolation{
                  "c.measured_time",
                  "is 2026-01-31T12:00:00Z, and this server's clock says 2026-01-31T11:55:00Z: "
                  "compare the clocks, or measure the device again"}));
}

// A time that is not valid is already reported by another check.
TEST(CalibrationClock, LeavesAloneWhatIsNoInstant) {
  v1::Calibration calibration = SampleCalibration();
  const absl::Time now = absl::FromUnixSeconds(kSampleInstant);
  calibration.mutable_measured_time()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(FaultsAt(calibration, now), IsEmpty());
  calibration.clear_measured_time();
  EXPECT_THAT(FaultsAt(calibration, now), IsEmpty());
  FieldViolations violations;
  violations.Add("c.measured_time.nanos", "is wrong");
  CheckNotAhead(SampleCalibration(), "c", now - absl::Hours(1), violations);
  EXPECT_EQ(violations.all().size(), 1);
}

v1::Calibration MeasuredAt(const std::string& uuid, int64_t unix_seconds) {
  v1::Calibration out = FakeCalibration();
  out.mutable_device()->set_uuid(uuid);
  out.mutable_measured_time()->set_seconds(unix_seconds);
  return out;
}

std::vector<std::string> UuidsIn(const CalibrationStore& store) {
  std::vector<std::string> out;
  const auto snapshot = store.snapshot();
  for (const DeviceCalibrations& kept : snapshot->calibrations) out.push_back(kept.device.uuid());
  return out;
}

// One of two clocks is wrong, perhaps this one: the file may be valid at the next start.
TEST(CalibrationClock, OfAFileThatIsAheadKeepsItOutOfUse) {
  const TemporaryFolder folder;
  constexpr int64_t kServerStart = 1'800'000'000;
  const absl::Time now = absl::FromUnixSeconds(kServerStart);
  {
    CalibrationStore store(folder.path());
    store.Keep(MeasuredAt("CPU-1", kServerStart + 301));
    store.Keep(MeasuredAt("GPU-1", kServerStart + 300));
  }
  ::testing::internal::CaptureStderr();
  CalibrationStore store(folder.path(), "node1", now);
  const auto line = nlohmann::json::parse(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(line["event"], "calibration_from_future");
  EXPECT_EQ(line["file"], CalibrationPath(folder.path(), "CPU-1", v1::PROBE_MODE_STANDARD));
  EXPECT_THAT(line["reason"].get<std::string>(),
              AllOf(HasSubstr("2027-01-15T08:05:01Z"), HasSubstr("2027-01-15T08:00:00Z")));
  EXPECT_THAT(UuidsIn(store), ElementsAre("GPU-1"));
  EXPECT_EQ(store.snapshot()->FindAll("CPU-1"), nullptr);
  EXPECT_THAT(UuidsIn(CalibrationStore(folder.path(), "node1", now + absl::Seconds(1))),
              ElementsAre("CPU-1", "GPU-1"));
  // A measurement by the present clock replaces it.
  EXPECT_EQ(store.Keep(MeasuredAt("CPU-1", kServerStart), now).warning, "");
  EXPECT_THAT(UuidsIn(CalibrationStore(folder.path(), "node1", now)),
              ElementsAre("CPU-1", "GPU-1"));
}

}  // namespace
}  // namespace sextant::server
