// The names of fields that the API has; a plan in one line.
#include "proto/words/field_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/flags/words.h"
#include "proto/words/plan_line.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

TEST(FieldNames, HaveOneFieldEach) {
  std::map<std::string, std::string> fields;
  for (const words::NamedField& field : words::PlanFields()) {
    for (const std::string& name : field.names) {
      EXPECT_TRUE(fields.emplace(name, field.path).second) << name;
    }
  }
}

TEST(FieldNames, AreFoundBelowThePlan) {
  EXPECT_EQ(words::PlanFieldWord("training.token_count"), "--tokens");
  EXPECT_EQ(words::PlanFieldWord("model.preset"), "--preset");
  // Part of the text of another field.
  EXPECT_EQ(words::PlanFieldWord("measured_step.layout.micro_batch_size"),
            "measured_step.layout.micro_batch_size");
}

// SetField() reads a text of FieldText().
TEST(FieldText, IsReadAgain) {
  const std::pair<const char*, const char*> texts[] = {
      {"layout.parallel.tensor_parallel_size", "8"}, {"layout.sharding.zero_stage", "gradients"},
      {"layout.sequence_parallel", "false"},         {"layout.kernels.expert_load_factor", "1.25"},
      {"layout.parallel.layers_per_chunk", "8x8x7"},
  };
  for (const auto& [path, text] : texts) {
    v1::PlanRunRequest request;
    ASSERT_TRUE(SetField(path, text, &request).ok()) << path;
    const google::protobuf::Message* message = &request;
    const std::vector<std::string> names = absl::StrSplit(path, '.');
    for (size_t i = 0; i + 1 < names.size(); ++i) {
      message = &message->GetReflection()->GetMessage(
          *message, message->GetDescriptor()->FindFieldByName(names[i]));
    }
    EXPECT_EQ(words::FieldText(*message, *FindField(*request.GetDescriptor(), path)), text);
  }
  v1::RunLayout layout;
  layout.add_unmodelled_settings("x");
  EXPECT_EQ(words::FieldText(layout,
                             *v1::RunLayout::descriptor()->FindFieldByName("unmodelled_settings")),
            "");
}

v1::Plan SmallPlan() {
  return FromText<v1::Plan>(R"(
      verdict: VERDICT_DOES_NOT_FIT
      model_name: "llama-3.1-8b" device: "h100-sxm" device_count: 16 token_count: 1000
      memory {
        scope: MEMORY_SCOPE_LAYOUT
        peak_bytes { low: 2147483648 expected: 3221225472 high: 4294967296 }
        capacity { usable_bytes: 1073741824 }
        changes {
          settings { field: "layout.sharding.zero_stage" old_value { enum_name: "ZERO_STAGE_NONE" }
                     new_value { enum_name: "ZERO_STAGE_OPTIMIZER" } }
          settings { field: "layout.parallel.tensor_parallel_size"
                     old_value { number: 1 } new_value { number: 2 } }
          peak_bytes { expected: 536870912 }
        }
      }
      estimates { kind: ESTIMATE_KIND_PREDICTED elapsed_seconds { expected: 864000 } })");
}

TEST(PlanLine, SaysWhatWasJudged) {
  v1::Plan plan = SmallPlan();
  EXPECT_EQ(
      words::PlanLine(plan, {}),
      "DOES NOT FIT: llama-3.1-8b, 16 x h100-sxm; 3.00 GiB (2.00 to 4.00) of 1.00 GiB usable; "
      "10.00 days predicted");
  EXPECT_THAT(words::PlanLine(plan, {.devices_per_node = 8}), HasSubstr("h100-sxm: 2 nodes x 8;"));
  EXPECT_THAT(words::PlanLine(plan, {.devices_per_node = 16}), HasSubstr(": 1 node x 16;"));
  EXPECT_THAT(words::PlanLine(plan, {.devices_per_node = 72}), HasSubstr(": 1 node x 16;"));
  EXPECT_THAT(words::PlanLine(plan, {.devices_per_node = 6}), HasSubstr(": 3 nodes of 6;"));
  EXPECT_THAT(words::PlanLine(plan, {.misses = "DEADLINE MISSED"}),
              ::testing::StartsWith("DOES NOT FIT, DEADLINE MISSED: "));
  plan.add_unread_config_fields("gating");
  EXPECT_THAT(words::PlanLine(plan, {}), HasSubstr("llama-3.1-8b (not read: gating), 16 x"));
  plan.add_unread_config_fields("sinks");
  EXPECT_THAT(words::PlanLine(plan, {}), HasSubstr("(not read: gating, and 1 more), 16 x"));
  plan.set_token_count(1);  // memory alone was asked for
  EXPECT_EQ(words::PlanLine(plan, {}).find("predicted"), std::string::npos);
  plan.mutable_memory()->set_scope(v1::MEMORY_SCOPE_MODEL_STATE);
  EXPECT_THAT(words::PlanLine(plan, {}), HasSubstr("3.00 GiB of 1.00 GiB usable, of model state"));
  plan.set_model_name(std::string(500, 'm'));
  EXPECT_EQ(words::PlanLine(plan, {}).size(), words::kMaxLineLength);
}

TEST(CheapestChange, IsInWordsToAdd) {
  v1::Plan plan = SmallPlan();
  EXPECT_EQ(words::CheapestChange(plan),
            "--zero=optimizer (now none) and --tp=2 (now 1): 0.50 GiB");
  plan.set_verdict(v1::VERDICT_FITS);
  EXPECT_EQ(words::CheapestChange(plan), "");
}

TEST(OneLineOf, IsPrintableAndShort) {
  EXPECT_EQ(words::OneLineOf("a\nb\tc\x1b[2J\x7f\xe2\x80\xae"), "a b c?[2J????");
  EXPECT_EQ(words::OneLineOf(std::string(400, 'a')), std::string(400, 'a'));
  EXPECT_EQ(words::OneLineOf(std::string(401, 'a')), std::string(397, 'a') + "...");
}

}  // namespace
}  // namespace sextant::client
