// PlanRun over the wire, on measured devices.
#include "server/planning_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/convert/calibration.h"
#include "tests/server/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kUuid[] = "CPU-0123456789abcdef";
constexpr int64_t kMeasured = 1'769'860'800;  // SampleCalibration()'s

CalibrationSnapshot SnapshotOf(const std::vector<v1::Calibration>& calibrations) {
  CalibrationSnapshot out;
  for (const v1::Calibration& c : calibrations) {
    out.devices.push_back(c.device());
    out.calibrations.push_back(std::make_shared<const StoredCalibration>(
        StoredCalibration{.calibration = c, .fingerprint = CalibrationFingerprint(c)}));
  }
  return out;
}

// A service of its own that knows `snapshot`, an hour after the sample was measured.
class PlanningServer {
 public:
  explicit PlanningServer(CalibrationSnapshot snapshot)
      : snapshot_(std::make_shared<const CalibrationSnapshot>(std::move(snapshot))),
        metrics_(registry_),
        service_(metrics_, {.log_level = CallLogLevel::kNone,
                            .calibrations = [this] { return snapshot_; },
                            .now = [] { return absl::FromUnixSeconds(kMeasured + 3600); },
                            .workers = &workers_}) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::PlanningService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                             grpc::InsecureChannelCredentials()));
  }
  ~PlanningServer() { server_->Shutdown(); }

  // The one thread on which layouts are looked at.
  WorkerPool& workers() { return workers_; }

  grpc::Status PlanRun(const v1::PlanRunRequest& request, v1::PlanRunResponse* response,
                       double timeout_seconds = 60) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(static_cast<int>(1000 * timeout_seconds)));
    return stub_->PlanRun(&context, request, response);
  }

 private:
  const std::shared_ptr<const CalibrationSnapshot> snapshot_;
  prometheus::Registry registry_;
  Metrics metrics_;
  WorkerPool workers_{WorkerPoolOptions{.threads = 1}};
  PlanningService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PlanningService::Stub> stub_;
};

PlanningServer WithSample() { return PlanningServer(SnapshotOf({SampleCalibration()})); }

// 1e9 parameters on 2e10 tokens, 1.2e20 FLOP, on devices yet to be named.
v1::PlanRunRequest SmallRun() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_parameter_count(1'000'000'000);
  request.mutable_training()->set_token_count(20'000'000'000);
  request.mutable_cluster()->set_device_count(1);
  return request;
}

v1::PlanRunRequest RunOn(const std::vector<std::string>& uuids) {
  v1::PlanRunRequest request = SmallRun();
  for (const std::string& uuid : uuids) request.mutable_cluster()->add_device_uuids(uuid);
  request.mutable_cluster()->set_device_count(static_cast<int64_t>(uuids.size()));
  return request;
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status wire;
  google::rpc::ErrorInfo info;
  if (!grpc::ExtractErrorDetails(status, &wire).ok() || wire.details_size() == 0) return "none";
  return wire.details(0).UnpackTo(&info) ? info.reason() : "none";
}

v1::RateUsed MatmulRate(const v1::PlanRunResponse& response) {
  for (const v1::RateUsed& rate : response.plan().rates()) {
    if (rate.quantity() == "matmul_flops_per_second") return rate;
  }
  return {};
}

TEST(PlanningService, PlansOnThisHostsOwnDevice) {
  const PlanningServer server = WithSample();
  for (const char* name : {"host", kUuid}) {
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(RunOn({name}), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    // 1.2e20 FLOP at the sustained 1.6e12 FLOP/s
    EXPECT_DOUBLE_EQ(response.plan().measured_bound().duration_seconds(), 7.5e7);
    EXPECT_EQ(response.plan().measured_bound().measured_fraction(), 1);
    EXPECT_FALSE(response.plan().measured_bound().has_mfu());
    EXPECT_FALSE(response.plan().has_lower_bound());
    EXPECT_FALSE(response.plan().has_textbook_estimate());
    EXPECT_EQ(response.plan().accelerator(), "Some Processor 9000");
    const v1::RateUsed rate = MatmulRate(response);
    EXPECT_EQ(rate.source(), v1::RATE_SOURCE_MEASURED_DEVICE);
    EXPECT_EQ(rate.value(), 1.6e12);
    EXPECT_EQ(rate.relative_spread(), 0.01);
    EXPECT_TRUE(rate.stable());
    EXPECT_EQ(rate.measured_time().seconds(), kMeasured);
    EXPECT_EQ(rate.device_uuid(), kUuid);
    EXPECT_EQ(rate.calibration_fingerprint(), CalibrationFingerprint(SampleCalibration()));
  }
}

TEST(PlanningService, PlansOnASuppliedCalibration) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  *request.mutable_cluster()->add_calibrations() = SampleCalibration();
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(MatmulRate(response).source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

// What --matmul measures is the caller's choice of shapes, and may be far from the device's best.
TEST(PlanningService, DoesNotPlanOnShapesThatWereAskedFor) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* calibration = request.mutable_cluster()->add_calibrations();
  *calibration = SampleCalibration();
  calibration->clear_sustained_matmuls();
  for (auto& matmul : *calibration->mutable_matmuls()) matmul.set_requested(true);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "RATES_NOT_MEASURED");
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("holds only shapes that were asked for"),
                                            HasSubstr("without --matmul")));
}

// The same version, request and rates give the same bytes, whoever holds the rates.
TEST(PlanningService, AnswersAlikeEveryTime) {
  const PlanningServer one = WithSample();
  const PlanningServer two = WithSample();
  v1::PlanRunRequest request = RunOn({"host"});
  request.mutable_options()->set_include_derivation(true);
  v1::PlanRunResponse first;
  ASSERT_TRUE(one.PlanRun(request, &first).ok());
  EXPECT_GT(first.plan().derivation_size(), 20);
  for (const PlanningServer* server : {&one, &two}) {
    v1::PlanRunResponse again;
    ASSERT_TRUE(server->PlanRun(request, &again).ok());
    EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  }
}

// Other rates of the same device, or another source of the same rates: another fingerprint.
TEST(PlanningService, FingerprintsTheRates) {
  v1::Calibration slower = SampleCalibration();
  slower.clear_sustained_matmuls();
  const PlanningServer one = WithSample();
  const PlanningServer two{SnapshotOf({slower})};
  v1::PlanRunRequest supplied = SmallRun();
  *supplied.mutable_cluster()->add_calibrations() = SampleCalibration();
  v1::PlanRunResponse a, b, c;
  ASSERT_TRUE(one.PlanRun(RunOn({"host"}), &a).ok());
  ASSERT_TRUE(two.PlanRun(RunOn({"host"}), &b).ok());
  ASSERT_TRUE(one.PlanRun(supplied, &c).ok());
  EXPECT_NE(a.rates_fingerprint(), b.rates_fingerprint());
  EXPECT_NE(a.rates_fingerprint(), c.rates_fingerprint());
}

// What GetCalibration gives carries the server's annotation: it plans all the same.
TEST(PlanningService, TakesBackWhatTheServerAnnotated) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* calibration = request.mutable_cluster()->add_calibrations();
  *calibration = SampleCalibration();
  calibration->mutable_matmuls(0)->set_datasheet_mfu(0.5);
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(request, &response).ok());
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

TEST(PlanningService, KnowsItsHostsDevicesAlone) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status unknown = server.PlanRun(RunOn({"CPU-0123456789abcdee"}), &response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(unknown), "DEVICE_UNKNOWN");
  EXPECT_EQ(unknown.error_message(),
            absl::StrCat("device \"CPU-0123456789abcdee\" is not known; near names: ", kUuid,
                         "; all: sextant devices (HardwareService.ListDevices)"));
  const grpc::Status together = server.PlanRun(RunOn({"gpu-0", "gpu-1"}), &response);
  EXPECT_EQ(together.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(together.error_message(),
              AllOf(HasSubstr("cluster.device_uuids[0]"), HasSubstr("cluster.device_uuids[1]")));
}

TEST(PlanningService, TheHostAndItsUuidAreOneDevice) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(RunOn({"host", kUuid}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("cluster.device_uuids[1]"));
}

// A calibration of a device that is gone is no device.
TEST(PlanningService, DoesNotPlanOnDevicesThatAreGone) {
  CalibrationSnapshot snapshot = SnapshotOf({SampleCalibration()});
  snapshot.devices.clear();
  const PlanningServer server{std::move(snapshot)};
  v1::PlanRunResponse response;
  EXPECT_EQ(ReasonOf(server.PlanRun(RunOn({kUuid}), &response)), "DEVICE_UNKNOWN");
}

TEST(PlanningService, NamesADeviceThatWasNeverMeasured) {
  CalibrationSnapshot snapshot = SnapshotOf({SampleCalibration()});
  snapshot.calibrations.clear();
  const PlanningServer server{std::move(snapshot)};
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(RunOn({"host"}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "RATES_NOT_MEASURED");
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr(kUuid), HasSubstr("sextant probe")));
}

TEST(PlanningService, MeasuresAgeByItsOwnClock) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunOn({"host"});
  v1::PlanRunResponse response;
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3600);
  EXPECT_TRUE(server.PlanRun(request, &response).ok());
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3599);
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("3600 seconds ago"));
}

TEST(PlanningService, RefusesTooManyNames) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status status =
      server.PlanRun(RunOn(std::vector<std::string>(65, "host")), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), StartsWith("cluster.device_uuids: are 65"));
}

// A calibration that makes no sense is a fault of the request, and its only one.
TEST(PlanningService, NamesWhatIsWrongWithASuppliedCalibration) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = SmallRun();
  *request.mutable_cluster()->add_calibrations() = SampleCalibration("CPU-1");
  *request.mutable_cluster()->add_calibrations() = SampleCalibration("CPU-2");
  request.mutable_cluster()->mutable_calibrations(1)->mutable_matmuls(0)->set_n(-1);
  request.mutable_cluster()->set_device_count(2);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "cluster.calibrations[1].matmuls[0].n: must be 1 to 1000000, not -1");
}

TEST(PlanningService, NearNamesHoldTheHost) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  EXPECT_THAT(server.PlanRun(RunOn({"hots"}), &response).error_message(), HasSubstr("host"));
}

// Llama-3-8B on 32 devices, tensor 4 x pipeline 4 x data 2.
v1::PlanRunRequest RunWithLayout() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama-3.1-8b");
  request.mutable_training()->set_token_count(1);
  request.mutable_training()->set_sequence_length(4096);
  request.mutable_cluster()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(32);
  v1::ParallelLayout* parallel = request.mutable_layout()->mutable_parallel();
  parallel->set_tensor_parallel_size(4);
  parallel->set_pipeline_parallel_size(4);
  return request;
}

void ExpectAddsUp(const v1::StageMemory& stage) {
  int64_t sums = 0;
  for (const v1::LedgerSum& sum : stage.sums()) {
    int64_t rows = 0;
    for (const v1::LedgerRow& row : stage.ledger()) {
      if (row.kind() == sum.kind()) rows += row.size_bytes();
    }
    EXPECT_EQ(rows, sum.size_bytes()) << stage.stage() << " " << v1::LedgerKind_Name(sum.kind());
    sums += sum.size_bytes();
  }
  EXPECT_EQ(sums, stage.total_bytes());
  EXPECT_EQ(stage.process_bytes().expected(), stage.total_bytes());
}

TEST(PlanningService, EstimatesMemoryByStage) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_ledger(true);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::MemoryEstimate& estimate = response.plan().memory_estimate();
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_FITS);
  EXPECT_EQ(estimate.data_parallel_size(), 2);
  ASSERT_EQ(estimate.stages_size(), 4);
  for (const v1::StageMemory& stage : estimate.stages()) {
    EXPECT_EQ(stage.layer_count(), 8);
    EXPECT_GT(stage.ledger_size(), 20);
    ExpectAddsUp(stage);
  }
  // Without its rows the answer is the same.
  request.mutable_options()->clear_include_ledger();
  v1::PlanRunResponse sums;
  ASSERT_TRUE(server.PlanRun(request, &sums).ok());
  for (v1::StageMemory& stage :
       *response.mutable_plan()->mutable_memory_estimate()->mutable_stages()) {
    stage.clear_ledger();
  }
  EXPECT_EQ(sums.SerializeAsString(), response.SerializeAsString());
}

TEST(PlanningService, NamesWhatMakesALayoutFit) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_cluster()->set_device_memory_bytes(10'000'000'000);
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(request, &response).ok());
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_DOES_NOT_FIT);
  const v1::MemoryEstimate& estimate = response.plan().memory_estimate();
  EXPECT_LT(estimate.headroom_bytes().high(), 0);
  ASSERT_GT(estimate.changes_size(), 0);
  for (const v1::FittingChange& change : estimate.changes()) {
    EXPECT_LE(change.process_bytes().high(), estimate.usable_bytes());
    EXPECT_GT(change.settings_size(), 0);
  }
}

// All that is wrong with a layout comes back together, by the request's own names.
TEST(PlanningService, NamesWhatIsWrongWithALayout) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_training()->clear_sequence_length();
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  request.mutable_layout()->mutable_framework()->set_fragmentation_ratio(-1);
  request.mutable_layout()->set_schedule(static_cast<v1::PipelineSchedule>(99));
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("training.sequence_length"),
                                            HasSubstr("layout.parallel.tensor_parallel_size"),
                                            HasSubstr("layout.framework.fragmentation_ratio"),
                                            HasSubstr("layout.schedule")));
}

// What may take long keeps no thread of gRPC's.
TEST(PlanningService, LooksAtLayoutsOnItsWorkers) {
  PlanningServer server = WithSample();
  std::promise<void> released;
  server.workers().Post([&released](const absl::Status&) { released.get_future().wait(); });
  v1::PlanRunResponse response;
  EXPECT_EQ(server.PlanRun(RunWithLayout(), &response, 0.2).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server.PlanRun(RunOn({"host"}), &response).ok());
  released.set_value();
  EXPECT_TRUE(server.PlanRun(RunWithLayout(), &response).ok());
}

}  // namespace
}  // namespace sextant
