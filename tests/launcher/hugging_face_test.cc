// Files and commands of Hugging Face's programs, read.
#include "server/launcher/hugging_face.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/launcher/command_line.h"
#include "server/launcher/file_format.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"
#include "tests/support/cases.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;
using HfJson = nlohmann::json;

// Reads a text by the first format that recognises it.
absl::StatusOr<LauncherRead> ReadAny(const std::string& text, std::string* format) {
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) return parsed.status();
  const FileFormat* const found = FormatOf(*parsed);
  if (found == nullptr) return absl::InvalidArgumentError("no format");
  *format = found->name;
  if (found->read == nullptr) return absl::InvalidArgumentError(found->instead);
  return found->read(*parsed, true);
}

std::vector<std::string> TextsOf(const HfJson& c, const char* name) {
  return c.contains(name) ? c[name].get<std::vector<std::string>>() : std::vector<std::string>();
}

// Without messages that say nothing. A field that is set to false stays: it is not one left open.
HfJson WithoutEmpty(const HfJson& value) {
  if (!value.is_object()) return value;
  HfJson out = HfJson::object();
  for (const auto& [key, member] : value.items()) {
    const HfJson kept = WithoutEmpty(member);
    if (!kept.is_object() || !kept.empty()) out[key] = kept;
  }
  return out;
}

HfJson JsonOfRequest(const v1::PlanRunRequest& request) {
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(request, &text).ok());
  return WithoutEmpty(HfJson::parse(text));
}

// The request of a case, as the API writes it.
HfJson ExpectedOf(const HfJson& c) {
  v1::PlanRunRequest out;
  const auto parsed = google::protobuf::util::JsonStringToMessage(c.at("request").dump(), &out);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString();
  return JsonOfRequest(out);
}

void ExpectRead(const HfJson& c) {
  const std::string text = c.contains("file") ? LauncherGolden(c["file"]) : TextIn(c, "text");
  std::string format;
  const absl::StatusOr<LauncherRead> read = ReadAny(text, &format);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(format, TextIn(c, "format"));
  v1::PlanRunRequest devices;
  devices.mutable_cluster()->set_device_count(read->request.cluster().device_count());
  EXPECT_EQ(JsonOfRequest(RequestAsRead(*read, devices)), ExpectedOf(c));
  EXPECT_THAT(read->ignored, UnorderedElementsAreArray(TextsOf(c, "ignored")));
  EXPECT_THAT(read->open, UnorderedElementsAreArray(TextsOf(c, "open")));
  EXPECT_THAT(LoweringOf(*read), UnorderedElementsAreArray(TextsOf(c, "lowering")));
  EXPECT_THAT(read->wants, UnorderedElementsAreArray(TextsOf(c, "wants")));
  EXPECT_EQ(read->sequences_per_rank, c.value("sequences_per_rank", 0));
}

constexpr char kHfCases[] = "tests/launcher/cases.jsonl";

TEST(HuggingFace, ReadsFilesAndCommands) {
  for (const HfJson& c : CasesIn(kHfCases, "hugging face")) {
    SCOPED_TRACE(c.dump());
    ExpectRead(c);
  }
}

TEST(HuggingFace, SaysWhatToWriteInstead) {
  std::string format;
  ExpectUnread("hugging face unread",
               [&](const std::string& text) { return ReadAny(text, &format).status(); });
  ExpectSays(ReadAny(LauncherGolden("trl_dpo.yaml"), &format).status(), "are not planned");
}

// The word of the lists of options for what became of a setting.
std::string FateOf(const LauncherRead& read, const std::string& name) {
  const bool lowers = absl::c_any_of(read.lowering, [&](const LoweringSetting& each) {
    return each.text == name || absl::StartsWith(each.text, name + " =");
  });
  if (lowers) return "lowers";
  if (absl::c_linear_search(read.raising, name)) return "raises";
  if (absl::c_linear_search(read.time_alone, name)) return "time";
  if (absl::c_linear_search(read.ignored, name)) return "ignored";
  if (absl::c_linear_search(read.open, name)) return "open";
  return absl::c_linear_search(read.passed, name) ? "passed" : "read";
}

using ReadDocument = absl::StatusOr<LauncherRead> (*)(HfJson document);

// Reads each option of a list alone, after `base`; its fate and its value are words `at` and on.
void ExpectFates(const char* list, int at, const HfJson& base, ReadDocument reader) {
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(LauncherGolden(list), '\n', absl::SkipEmpty()))) {
    if (line.front() == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', at + 1));
    HfJson document = base;
    document[HfJson::json_pointer("/" + absl::StrReplaceAll(words[0], {{".", "/"}}))] =
        HfJson::parse(words.back());
    const absl::StatusOr<LauncherRead> read = reader(std::move(document));
    ASSERT_TRUE(read.ok()) << line << ": " << read.status();
    EXPECT_EQ(FateOf(*read, words[0]), words[words.size() - 2]) << line;
  }
}

TEST(HuggingFace, KnowsTheFateOfEachOption) {
  // Some settings count with others alone.
  ExpectFates("trainer_options.txt", 1, {{"use_lora", true}, {"fsdp", "full_shard"}},
              [](HfJson document) { return ReadTrainer(std::move(document), true); });
  ExpectFates("accelerate_options.txt", 1, {{"distributed_type", "FSDP"}}, [](HfJson document) {
    if (document.contains("deepspeed_config")) document["distributed_type"] = "DEEPSPEED";
    return ReadAccelerate(std::move(document));
  });
  const HfJson deepspeed = HfJson::parse(R"({
      "expert_parallel": {"enabled": true},
      "zero_optimization": {"offload_optimizer": {"device": "cpu"}}})");
  ExpectFates("deepspeed_options.txt", 2, deepspeed, ReadDeepspeedDocument);
}

// Each row stands for an option of the release, but for the names of other scripts.
TEST(HuggingFace, HasRowsForOptionsAlone) {
  const auto expect_known = [](absl::Span<const Setting> table, const char* list,
                               const std::vector<std::string>& others) {
    const std::vector<std::string> options = LauncherOptions(list);
    for (const Setting& each : table) {
      for (const absl::string_view name : NamesOf(each)) {
        const bool known = absl::c_any_of(
            options, [&](const std::string& option) { return absl::StartsWith(option, name); });
        EXPECT_TRUE(known || absl::c_linear_search(others, name)) << name;
      }
    }
  };
  expect_known(AccelerateSettings(), "accelerate_options.txt", {});
  expect_known(TrainerSettings(), "trainer_options.txt",
               {"model",
                "use_lora",
                "lora_rank",
                "fsdp_config.auto_wrap_policy",
                "fsdp_config.offload_params",
                "fsdp_config.sharding_strategy",
                "model_init_kwargs.torch_dtype",
                "method",
                "sequence_length",
                "bnb_4bit_compute_dtype",
                "cache_dir",
                "chat_template",
                "datasets",
                "lazy_preprocess",
                "max_eval_samples",
                "max_train_samples",
                "preprocessing_num_workers",
                "streaming",
                "token",
                "tokenizer_name",
                "tokenizer_name_or_path",
                "train_file",
                "use_fast_tokenizer",
                "validation_file",
                "validation_split_percentage",
                "wandb_"});
}

std::vector<std::string> Words(const std::string& text) { return *WordsOfCommand(text); }

TEST(CommandLine, FindsDevices) {
  for (const HfJson& c : CasesIn(kHfCases, "devices of commands")) {
    SCOPED_TRACE(c.dump());
    const std::optional<LaunchCommand> command = CommandOf(Words(TextIn(c, "text")));
    ASSERT_TRUE(command.has_value());
    EXPECT_EQ(DevicesOf(*command), c.at("devices"));
    EXPECT_EQ(command->script, TextIn(c, "script"));
  }
}

TEST(CommandLine, ReadsArgumentsByName) {
  std::vector<std::string> positional;
  const HfJson read = ArgumentsOf(Words(R"(first.yaml --a-b 1 --c=0.5 --d x y --no_e --f True)"
                                        R"( --g '{"h": [1]}' --i -1 --no_cuda)"),
                                  &positional);
  EXPECT_EQ(read, HfJson::parse(R"({"a_b": 1, "c": 0.5, "d": ["x", "y"], "e": false, "f": true,
                                    "g": {"h": [1]}, "i": -1, "no_cuda": true})"));
  EXPECT_THAT(positional, ElementsAre("first.yaml"));
}

TEST(CommandLine, SplitsWordsAsShellsDo) {
  EXPECT_THAT(Words("a 'b c' \"d \\\" e\" \\\n f\\ g ''\n"),
              ElementsAre("a", "b c", "d \" e", "f g", ""));
  EXPECT_EQ(WordsOfCommand("a 'b"), std::nullopt);
  EXPECT_EQ(WordsOfCommand("a\nb"), std::nullopt);
}

TEST(CommandLine, ReadsMegatronsArguments) {
  const absl::StatusOr<LauncherRead> read = ReadCommand(
      Words("torchrun --nproc-per-node=8 --nnodes 2 pretrain_gpt.py --num-layers 2 --hidden-size "
            "64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 2 --bf16"),
      false);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->request.cluster().device_count(), 16);
  EXPECT_EQ(read->request.layout().micro_batch_size(), 2);
}

// A file of accelerate and TrainingArguments add up, whichever comes first.
TEST(HuggingFace, AddsUpInEitherOrder) {
  const HfJson accelerate = {{"distributed_type", "FSDP"},
                             {"mixed_precision", "bf16"},
                             {"num_processes", 8},
                             {"fsdp_config", {{"fsdp_sharding_strategy", "FULL_SHARD"}}}};
  const HfJson arguments = {{"per_device_train_batch_size", 2}, {"dtype", "bfloat16"}};
  const LauncherRead first = *ReadAccelerate(accelerate);
  const LauncherRead second = *ReadTrainer(arguments, true);
  const auto request = [](const LauncherRead& a, const LauncherRead& b) {
    v1::PlanRunRequest out;
    Merge(a, &out);
    Merge(b, &out);
    Complete(a, &out);
    Complete(b, &out);
    return out;
  };
  const v1::PlanRunRequest out = request(first, second);
  EXPECT_EQ(DifferencesOf(out, request(second, first)), "");
  EXPECT_EQ(out.layout().global_batch_size(), 16);
  EXPECT_EQ(out.training().precision().compute_data_type(), v1::DATA_TYPE_BF16);
  // FSDP under mixed precision widens weights that were loaded in 16 bits.
  EXPECT_EQ(out.training().precision().weight_data_type(), v1::DATA_TYPE_UNSPECIFIED);
}

TEST(HuggingFace, SurvivesAnyCut) {
  const auto read = [](const std::string& text) {
    std::string format;
    (void)ReadAny(text, &format);
  };
  const std::string bytes("\0[:\"-9{\n\x80", 9);
  for (const char* const file :
       {"trainer.json", "trainer_zero3.json", "trl_qlora.yaml", "hybrid.accelerate.yaml"}) {
    TryEveryCut(file, bytes, read);
  }
  TryEveryCut("sft.command", bytes, read);
}

LauncherRead SharedCase(const std::string& file) {
  std::string format;
  const absl::StatusOr<LauncherRead> read =
      ReadAny(ContentOf(absl::StrCat(std::getenv("SEXTANT_SHARED_DIR"), "/golden/cases_3/", file)),
              &format);
  EXPECT_TRUE(read.ok()) << file << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

TEST(HuggingFace, ReadsSharedCases) {
  if (std::getenv("SEXTANT_SHARED_DIR") == nullptr) GTEST_SKIP() << "set SEXTANT_SHARED_DIR";
  const LauncherRead fsdp = SharedCase("fsdp_accelerate.yaml");
  EXPECT_EQ(fsdp.request.layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(fsdp.request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_THAT(fsdp.open, ElementsAre("fsdp_config.fsdp_auto_wrap_policy"));
  const LauncherRead trainer = SharedCase("trainer_sft.yaml");
  EXPECT_EQ(trainer.request.model().preset(), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(trainer.request.training().sequence_length(), 8192);
  EXPECT_EQ(trainer.sequences_per_rank, 2);
  EXPECT_THAT(trainer.ignored, IsEmpty());
  // Disks are not the host's memory.
  const LauncherRead disks = SharedCase("zero3_nvme.json");
  EXPECT_TRUE(disks.request.layout().sharding().offload_optimizer());
  EXPECT_THAT(LoweringOf(disks), ElementsAre("zero_optimization.offload_optimizer.device = nvme"));
  // Whoever fills in "auto" computes whole logits.
  const LauncherRead open = SharedCase("zero3_offload_auto.json");
  EXPECT_EQ(open.defaults.layout().kernels().loss(), v1::KernelChoices::LOSS_PLAIN);
  EXPECT_THAT(open.ignored, IsEmpty());
}

}  // namespace
}  // namespace sextant::server
