// Files of programs that tune models on Hugging Face's Trainer, each read as its format.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/file_format.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"
#include "tests/support/cases.h"

namespace sextant::server {
namespace {

using ::testing::UnorderedElementsAreArray;

std::vector<std::string> RowTexts(const nlohmann::json& row, const char* name) {
  return row.value(name, std::vector<std::string>());
}

// `devices` of 0 are what the file says.
v1::PlanRunRequest RequestOn(int64_t devices, const LauncherRead& read) {
  v1::PlanRunRequest original;
  if (devices > 0) original.mutable_cluster()->set_device_count(devices);
  return RequestAsRead(read, original);
}

TEST(TuningFiles, AreReadAsTheirFormat) {
  for (const nlohmann::json& row : CasesIn("tests/launcher/cases.jsonl", "tuning files")) {
    SCOPED_TRACE(TextIn(row, "file"));
    const absl::StatusOr<LaunchText> text =
        ParseLaunchText("", LauncherGolden(TextIn(row, "file")));
    ASSERT_TRUE(text.ok()) << text.status();
    const FileFormat* const format = FormatOf(*text);
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(format->name, TextIn(row, "format"));
    const absl::StatusOr<LauncherRead> read = format->read(*text, true);
    ASSERT_TRUE(read.ok()) << read.status();
    v1::PlanRunRequest expected;
    const auto parsed =
        google::protobuf::util::JsonStringToMessage(row.at("request").dump(), &expected);
    ASSERT_TRUE(parsed.ok()) << parsed.ToString();
    v1::PlanRunRequest made = RequestOn(row.value("devices", int64_t{0}), *read);
    if (row.contains("devices")) made.clear_cluster();
    EXPECT_EQ(DifferencesOf(expected, made), "");
    EXPECT_THAT(read->ignored, UnorderedElementsAreArray(RowTexts(row, "ignored")));
    EXPECT_THAT(LoweringOf(*read), UnorderedElementsAreArray(RowTexts(row, "lowering")));
    EXPECT_THAT(read->open, UnorderedElementsAreArray(RowTexts(row, "open")));
    EXPECT_THAT(read->wants, UnorderedElementsAreArray(RowTexts(row, "wants")));
  }
}

// True where a row of names starts `option`, as Passes() does.
bool Begins(absl::string_view option, absl::string_view name) {
  if (!absl::StartsWith(option, name)) return false;
  return option.size() == name.size() || absl::StrContains("._-", name.substr(name.size() - 1));
}

// Every option of a release has a row, but those that say nothing of a run by themselves.
void ExpectRowsForAll(const std::string& options, absl::Span<const Setting> table) {
  for (const std::string& option : LauncherOptions(options)) {
    const bool known = std::any_of(table.begin(), table.end(), [&](const Setting& row) {
      const std::vector<absl::string_view> names = NamesOf(row);
      return std::any_of(names.begin(), names.end(), [&](absl::string_view name) {
        if (name.empty() || row.lowers) return false;
        return row.passes ? Begins(option, name) || Begins(option + ".", name) : option == name;
      });
    });
    EXPECT_TRUE(known) << option;
  }
}

// No row has a name that its program does not know, but `others`.
void ExpectOptionsForAll(const std::string& options, absl::Span<const Setting> table,
                         const absl::flat_hash_set<std::string>& others) {
  const std::vector<std::string> all = LauncherOptions(options);
  for (const Setting& row : table) {
    for (const absl::string_view name : NamesOf(row)) {
      if (name.empty() || row.lowers || others.contains(std::string(name))) continue;
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& option) {
        return row.passes ? Begins(option, name) || option + "." == name : option == name;
      })) << name;
    }
  }
}

TEST(TuningFiles, MegatronSftIsMegatronsArgumentsOnAModel) {
  const absl::StatusOr<LaunchText> text =
      ParseLaunchText("", LauncherGolden("swift_megatron.command"));
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<LauncherRead> read = FormatOf(*text)->read(*text, true);
  ASSERT_TRUE(read.ok()) << read.status();
  absl::StatusOr<LauncherRead> same = ReadMegatron(
      "--tensor-model-parallel-size 2 --expert-model-parallel-size 4 --sequence-parallel "
      "--micro-batch-size 2 --global-batch-size 16 --recompute-granularity full "
      "--recompute-method uniform --recompute-num-layers 1 --seq-length 4096 --train-iters 100 "
      "--attention-backend flash --attention-dropout 0 --hidden-dropout 0 --moe-grouped-gemm "
      "--use-distributed-optimizer --cross-entropy-loss-fusion --bf16",
      false);
  ASSERT_TRUE(same.ok()) << same.status();
  same->request.mutable_model()->set_preset("Qwen/Qwen3-30B-A3B");
  same->request.mutable_cluster()->set_device_count(8);
  EXPECT_EQ(DifferencesOf(same->request, read->request), "");
  EXPECT_EQ(read->step_count, 100);
  EXPECT_THAT(read->ignored, UnorderedElementsAreArray(std::vector<std::string>()));
}

TEST(TuningFiles, MegatronSftReadsALoneDash) {
  const absl::StatusOr<LaunchText> text = ParseLaunchText(
      "", absl::StrReplaceAll(LauncherGolden("swift_megatron.command"), {{"--no_", "-- no_"}}));
  ASSERT_TRUE(text.ok()) << text.status();
  const FileFormat* const format = FormatOf(*text);
  ASSERT_NE(format, nullptr);
  const absl::StatusOr<LauncherRead> read = format->read(*text, true);
  EXPECT_TRUE(read.ok()) << read.status();
}

TEST(TuningFiles, ACommandWantsTheFileThatItNames) {
  for (const char* const command :
       {"llamafactory-cli train run.yaml learning_rate=1e-5", "swift sft run.yaml"}) {
    const absl::StatusOr<LaunchText> text = ParseLaunchText("", command);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::StatusOr<LauncherRead> read = FormatOf(*text)->read(*text, true);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->wants, std::vector<std::string>{"run.yaml"}) << command;
    EXPECT_FALSE(read->request.model().has_changes()) << command;
  }
}

TEST(TuningFiles, SayTheirProgramsNamesInErrors) {
  for (const nlohmann::json& row : CasesIn("tests/launcher/cases.jsonl", "tuning unread")) {
    SCOPED_TRACE(row.dump());
    const absl::StatusOr<LaunchText> text = ParseLaunchText("", TextIn(row, "text"));
    ASSERT_TRUE(text.ok()) << text.status();
    const FileFormat* const format = FormatOf(*text);
    ASSERT_NE(format, nullptr);
    ExpectSays(format->read(*text, true).status(), TextIn(row, "says"));
  }
}

TEST(TuningFiles, EveryOptionOfAxolotlHasARow) {
  ExpectRowsForAll("axolotl_options.txt", AxolotlSettings());
  ExpectOptionsForAll("axolotl_options.txt", AxolotlSettings(),
                      // FSDP1's, which accelerate takes, and keys of a dictionary.
                      {"fsdp_config.sharding_strategy", "fsdp_config.limit_all_gathers",
                       "fsdp_config.backward_prefetch", "fsdp_config.forward_prefetch",
                       "bnb_config_kwargs.bnb_4bit_use_double_quant"});
}

TEST(TuningFiles, EveryOptionOfLlamaFactoryHasARow) {
  ExpectRowsForAll("llamafactory_options.txt", LlamaFactorySettings());
  ExpectOptionsForAll("llamafactory_options.txt", LlamaFactorySettings(), {});
}

// Some of its options have other defaults than TrainingArguments, which read them.
TEST(TuningFiles, EveryOptionOfSwiftHasARow) {
  std::vector<Setting> all(SwiftSettings().begin(), SwiftSettings().end());
  all.insert(all.end(), TrainerSettings().begin(), TrainerSettings().end());
  ExpectRowsForAll("swift_options.txt", all);
  ExpectOptionsForAll("swift_options.txt", SwiftSettings(), {"sft_type"});
}

}  // namespace
}  // namespace sextant::server
