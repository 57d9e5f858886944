// A launcher's file says what was planned: a run that is written and read back has the same time
// and memory, to the last digit.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/presets/presets.h"
#include "server/convert/architecture.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "tests/server/planning_server.h"
#include "tests/support/cases.h"

namespace sextant::server {
namespace {

constexpr char kRoundTrips[] = "tests/launcher/round_trips.jsonl";

v1::PlanRunRequest RequestIn(const nlohmann::json& c, const std::string& launcher) {
  v1::PlanRunRequest out;
  const auto read = google::protobuf::util::JsonStringToMessage(c.at("request").dump(), &out);
  EXPECT_TRUE(read.ok()) << read.ToString();
  v1::FrameworkMemory& framework = *out.mutable_layout()->mutable_framework();
  if (framework.kind() == v1::FrameworkMemory::KIND_UNSPECIFIED) {
    framework.set_kind(FrameworkOf(launcher));
  }
  out.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  return out;
}

LaunchedRun RunOf(const v1::PlanRunRequest& request) {
  LaunchedRun out = {.request = request, .model_name = request.model().preset()};
  ArchitectureTo(FindModelPreset(request.model().preset()).value()->architecture, &out.model);
  return out;
}

absl::StatusOr<LauncherRead> ReadBack(const std::string& launcher, const std::string& text) {
  if (launcher == "megatron") return ReadMegatron(text, true);
  if (launcher == "torchtitan") return ReadTorchtitan(text, true);
  if (launcher == "deepspeed") return ReadDeepspeed(text);
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) return parsed.status();
  return ReadAccelerate(parsed->Document());
}

// The run as it was read, on the same devices. What the files of DeepSpeed and accelerate leave to
// the script is the script's.
v1::PlanRunRequest AsRead(const LauncherRead& read, const std::string& launcher,
                          const v1::PlanRunRequest& planned) {
  v1::PlanRunRequest out;
  *out.mutable_cluster() = planned.cluster();
  *out.mutable_options() = planned.options();
  if (launcher == "deepspeed") {
    *out.mutable_model() = planned.model();
    out.mutable_training()->set_sequence_length(planned.training().sequence_length());
    out.mutable_training()->set_token_count(planned.training().token_count());
    out.mutable_training()->set_recompute(planned.training().recompute());
    *out.mutable_layout()->mutable_storage() = planned.layout().storage();
  }
  if (launcher == "accelerate") {
    *out.mutable_model() = planned.model();
    *out.mutable_training() = planned.training();
    out.mutable_training()->mutable_precision()->clear_compute_data_type();
    out.mutable_layout()->set_micro_batch_size(planned.layout().micro_batch_size());
    out.mutable_layout()->set_global_batch_size(planned.layout().global_batch_size());
    *out.mutable_layout()->mutable_kernels() = planned.layout().kernels();
  }
  out.MergeFrom(read.request);
  Complete(read, &out);
  return out;
}

void ExpectSame(const v1::Interval& expected, const v1::Interval& actual) {
  EXPECT_EQ(expected.low(), actual.low());
  EXPECT_EQ(expected.expected(), actual.expected());
  EXPECT_EQ(expected.high(), actual.high());
}

void ExpectSamePlan(const v1::Plan& planned, const v1::Plan& again) {
  ASSERT_TRUE(planned.has_step_time());
  ExpectSame(planned.step_time().seconds(), again.step_time().seconds());
  ASSERT_EQ(planned.step_time().parts_size(), again.step_time().parts_size());
  for (int i = 0; i < planned.step_time().parts_size(); ++i) {
    const v1::StepPart& part = planned.step_time().parts(i);
    EXPECT_EQ(part.seconds(), again.step_time().parts(i).seconds()) << part.DebugString();
  }
  const v1::Memory& memory = planned.memory();
  ASSERT_EQ(memory.stages_size(), again.memory().stages_size());
  for (int i = 0; i < memory.stages_size(); ++i) {
    EXPECT_EQ(memory.stages(i).SerializeAsString(), again.memory().stages(i).SerializeAsString())
        << memory.stages(i).DebugString() << again.memory().stages(i).DebugString();
  }
}

void ExpectRoundTrips(const std::string& launcher) {
  const PlanningServer server = WithSample();
  for (const nlohmann::json& c : CasesIn(kRoundTrips, launcher)) {
    SCOPED_TRACE(c.dump());
    const v1::PlanRunRequest request = RequestIn(c, launcher);
    const absl::StatusOr<LauncherFile> file = WriteLauncher(launcher, RunOf(request));
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::StatusOr<LauncherRead> read = ReadBack(launcher, file->text);
    ASSERT_TRUE(read.ok()) << read.status() << file->text;
    EXPECT_THAT(read->ignored, ::testing::IsEmpty()) << file->text;
    const v1::PlanRunRequest again = AsRead(*read, launcher, request);
    ExpectSamePlan(server.Planned(request).plan(), server.Planned(again).plan());
  }
}

TEST(LauncherRoundTrips, OfMegatron) { ExpectRoundTrips("megatron"); }
TEST(LauncherRoundTrips, OfTorchtitan) { ExpectRoundTrips("torchtitan"); }
TEST(LauncherRoundTrips, OfDeepspeed) { ExpectRoundTrips("deepspeed"); }
TEST(LauncherRoundTrips, OfAccelerate) { ExpectRoundTrips("accelerate"); }

// A setting that a file lacks is off: without the settings that hide exchanges and send tokens to
// their experts, the same run takes longer.
TEST(LauncherRoundTrips, WithoutASettingTheRunIsSlower) {
  const PlanningServer server = WithSample();
  const auto seconds = [&](const v1::PlanRunRequest& request) {
    return server.Planned(request).plan().step_time().seconds().expected();
  };
  const struct {
    int row;
    std::vector<std::string> settings;
  } cases[] = {{0, {"--overlap-param-gather\n"}},
               {0, {"--overlap-grad-reduce\n", "--overlap-param-gather\n"}},
               {8, {"--tp-comm-overlap\n"}},
               {26, {"--moe-token-dispatcher-type flex\n", "--moe-enable-deepep\n"}}};
  const std::vector<nlohmann::json> rows = CasesIn(kRoundTrips, "megatron");
  for (const auto& [row, settings] : cases) {
    const v1::PlanRunRequest request = RequestIn(rows.at(static_cast<size_t>(row)), "megatron");
    std::string text = WriteMegatron(RunOf(request))->text;
    for (const std::string& setting : settings) {
      const size_t at = text.find(setting);
      ASSERT_NE(at, std::string::npos) << setting << text;
      text.erase(at, setting.size());
    }
    const absl::StatusOr<LauncherRead> read = ReadMegatron(text, true);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_GT(seconds(AsRead(*read, "megatron", request)), seconds(request) * 1.001) << text;
  }
}

}  // namespace
}  // namespace sextant::server
