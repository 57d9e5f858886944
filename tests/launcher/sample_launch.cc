#include "tests/launcher/sample_launch.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "server/launcher/run_union.h"
#include "tests/support/cases.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

constexpr char kCases[] = "tests/launcher/cases.jsonl";

constexpr char kDenseModel[] = R"({
  "hidden_size": 4096, "norm": "NORM_VARIANT_RMS_NORM",
  "embedding": {"vocabulary_size": 128256},
  "layer_kinds": [{
    "name": "dense", "norm": "NORM_VARIANT_RMS_NORM",
    "attention": {"head_count": 32, "key_value_head_count": 8, "query_key_head_size": 128},
    "feed_forward": {"kind": "KIND_GATED", "size": 14336}}],
  "decoder": {"layers": [{"layer_kind": "dense", "count": 32}]},
  "output": {"head": "OUTPUT_HEAD_UNTIED"}})";

constexpr char kExpertModel[] = R"({
  "hidden_size": 2048, "norm": "NORM_VARIANT_RMS_NORM",
  "embedding": {"vocabulary_size": 102400},
  "layer_kinds": [{
    "name": "dense", "norm": "NORM_VARIANT_RMS_NORM",
    "attention": {"head_count": 16, "query_key_head_size": 128},
    "feed_forward": {"kind": "KIND_GATED", "size": 10944}}, {
    "name": "experts", "norm": "NORM_VARIANT_RMS_NORM",
    "attention": {"head_count": 16, "query_key_head_size": 128},
    "experts": {"expert_count": 64, "experts_per_token": 6,
                "expert": {"kind": "KIND_GATED", "size": 1408},
                "shared_expert_count": 1, "shared_expert": {"kind": "KIND_GATED", "size": 2816}}}],
  "decoder": {"layers": [{"layer_kind": "dense", "count": 2},
                         {"layer_kind": "experts", "count": 30}]},
  "output": {"head": "OUTPUT_HEAD_UNTIED"}})";

// 1000 steps of 128 x 4096 tokens.
constexpr char kRequest[] = R"({
  "training": {
    "token_count": 524288000, "sequence_length": 4096, "recompute": "RECOMPUTE_POLICY_NONE",
    "precision": {"compute_data_type": "DATA_TYPE_BF16", "gradient_data_type": "DATA_TYPE_FP32"},
    "optimizer": {"kind": "KIND_ADAMW"}},
  "cluster": {"device_count": 64},
  "layout": {
    "parallel": {"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "expert_parallel_size": 1},
    "context_parallel_size": 1, "micro_batch_size": 1, "global_batch_size": 128,
    "sharding": {"zero_stage": "ZERO_STAGE_OPTIMIZER"}}})";

void ReadJson(const std::string& json, google::protobuf::Message* out) {
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, out);
  ASSERT_TRUE(parsed.ok()) << parsed.ToString() << "\n" << json;
}

v1::PlanRunRequest UnionOfOne(const LauncherRead& read, const v1::PlanRunRequest& caller) {
  return UnionOf({{.name = "file", .format = &FileFormats().front(), .read = read}}, caller)
      .request;
}

LaunchedRun LaunchOf(const std::string& model, const std::string& changes) {
  LaunchedRun run;
  ReadJson(kRequest, &run.request);
  ReadJson(model, &run.model);
  run.model_name = "sample";
  return Changed(run, changes);
}

}  // namespace

LaunchedRun DenseLaunch(const std::string& changes) { return LaunchOf(kDenseModel, changes); }

LaunchedRun ExpertLaunch(const std::string& changes) { return LaunchOf(kExpertModel, changes); }

LaunchedRun Changed(LaunchedRun run, const std::string& changes) {
  if (changes.empty()) return run;
  v1::PlanRunRequest changed;
  ReadJson(changes, &changed);
  run.request.MergeFrom(changed);
  return run;
}

v1::PlanRunRequest RequestAsRead(const LauncherRead& read, const v1::PlanRunRequest& original) {
  v1::PlanRunRequest caller;
  *caller.mutable_cluster() = original.cluster();
  v1::PlanRunRequest out = UnionOfOne(read, caller);
  if (out.has_layout()) {
    out.mutable_layout()->clear_unmodelled_settings();
    out.mutable_layout()->clear_unmodelled_effect();
  }
  return out;
}

std::vector<std::string> LoweringOf(const LauncherRead& read, bool recompute_given) {
  v1::PlanRunRequest caller;
  if (recompute_given) caller.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  LauncherRead lowering = read;
  lowering.ignored.clear();
  const v1::PlanRunRequest request = UnionOfOne(lowering, caller);
  const auto& settings = request.layout().unmodelled_settings();
  return {settings.begin(), settings.end()};
}

std::string DifferencesOf(const google::protobuf::Message& expected,
                          const google::protobuf::Message& actual) {
  google::protobuf::util::MessageDifferencer differ;
  differ.set_message_field_comparison(google::protobuf::util::MessageDifferencer::EQUIVALENT);
  std::string out;
  differ.ReportDifferencesToString(&out);
  return differ.Compare(expected, actual) ? "" : out;
}

std::vector<std::string> ChangesOf(const std::string& table) {
  std::vector<std::string> out;
  for (const nlohmann::json& c : CasesIn(kCases, table)) out.push_back(c.at("changes").dump());
  return out;
}

void ExpectSays(const absl::Status& status, const std::string& words) {
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(words));
}

void ExpectUnwritten(const std::string& table, StatusOfText status_of_changes) {
  for (const nlohmann::json& c : CasesIn(kCases, table)) {
    SCOPED_TRACE(c.dump());
    ExpectSays(status_of_changes(c.at("changes").dump()), TextIn(c, "says"));
  }
}

void ExpectUnread(const std::string& table, StatusOfText status_of_text) {
  for (const nlohmann::json& c : CasesIn(kCases, table)) {
    SCOPED_TRACE(c.dump());
    ExpectSays(status_of_text(TextIn(c, "text")), TextIn(c, "says"));
  }
}

void TryEveryCut(const std::string& file, const std::string& bytes,
                 absl::FunctionRef<void(const std::string&)> read, size_t step) {
  const std::string whole = LauncherGolden(file);
  for (size_t length = 0; length < whole.size(); length += step) {
    read(whole.substr(0, length));
    std::string changed = whole;
    changed[length] = bytes[length % bytes.size()];
    read(changed);
  }
}

std::string LauncherGolden(const std::string& file) {
  const std::string text = ContentOf(SourceFolder() + "/tests/golden/launchers/" + file);
  EXPECT_NE(text, "") << file;
  return text;
}

std::vector<std::string> LauncherOptions(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(LauncherGolden(file), '\n'))) {
    if (!line.empty() && !absl::StartsWith(line, "#")) {
      out.push_back(line.substr(0, line.find(' ')));
    }
  }
  return out;
}

}  // namespace sextant::server
