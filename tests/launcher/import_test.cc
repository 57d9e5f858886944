// Files of a run, added up.
#include "server/launcher/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "server/launcher/file_format.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kModelConfig[] =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 512})";

v1::ImportRunRequest FilesOf(const std::vector<std::pair<std::string, std::string>>& files) {
  v1::ImportRunRequest out;
  for (const auto& [name, content] : files) {
    out.add_files()->set_name(name);
    out.mutable_files()->rbegin()->set_content(content);
  }
  return out;
}

v1::ImportRunResponse Import(const v1::ImportRunRequest& request) {
  v1::ImportRunResponse out;
  const absl::Status status = ImportRun(request, &out);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

// The faults, by field: "files[0].content is no JSON: ...".
std::string FaultOf(const v1::ImportRunRequest& request) {
  v1::ImportRunResponse out;
  std::vector<std::string> faults;
  for (const FieldViolation& fault : FieldViolationsOf(ImportRun(request, &out))) {
    faults.push_back(absl::StrCat(fault.field, " ", fault.description));
  }
  return absl::StrJoin(faults, "\n");
}

std::string FaultOf(const std::string& content) { return FaultOf(FilesOf({{"", content}})); }

TEST(ImportRun, AddsUpWhatFilesSay) {
  const v1::ImportRunResponse read = Import(FilesOf(
      {{"ds.json", R"({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}})"},
       {"config.json", kModelConfig}}));
  EXPECT_EQ(read.request().layout().micro_batch_size(), 2);
  EXPECT_EQ(read.request().layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(read.request().model().hugging_face_config(), kModelConfig);
  ASSERT_THAT(read.files(), SizeIs(2));
  EXPECT_EQ(read.files(0).name(), "ds.json");
  EXPECT_EQ(read.files(0).format(), "DeepSpeed configuration");
  EXPECT_THAT(read.files(0).read(),
              ElementsAre("train_micro_batch_size_per_gpu", "zero_optimization.stage"));
  EXPECT_EQ(read.files(1).format(), "model's config.json");
  EXPECT_THAT(read.notes(), IsEmpty());
}

TEST(ImportRun, CompletesWhatFollowsFromDevices) {
  v1::ImportRunRequest request = FilesOf({{"",
                                           R"({"train_micro_batch_size_per_gpu": 2,
                                               "gradient_accumulation_steps": 4})"}});
  EXPECT_FALSE(Import(request).request().layout().has_global_batch_size());
  request.mutable_request()->mutable_cluster()->set_device_count(16);
  EXPECT_EQ(Import(request).request().layout().global_batch_size(), 2 * 4 * 16);
}

TEST(ImportRun, TakesTheLaterOfTwoValuesAndSaysSo) {
  const v1::ImportRunResponse read =
      Import(FilesOf({{"a", "--micro-batch-size 2 --bf16"},
                      {"b.json", R"({"train_micro_batch_size_per_gpu": 4})"}}));
  EXPECT_EQ(read.request().layout().micro_batch_size(), 4);
  EXPECT_THAT(read.notes(),
              UnorderedElementsAre(HasSubstr("layout.framework.kind is megatron-lm in a"),
                                   "layout.micro_batch_size is 2 in a, and 4 in b.json: the "
                                   "latter counts",
                                   HasSubstr("a step has 2 sequences on each device in a, and 4")));
  // fp32, which DeepSpeed assumes, says nothing against --bf16.
  EXPECT_EQ(read.request().training().precision().compute_data_type(), v1::DATA_TYPE_BF16);
}

// Trainer refuses to start with both.
TEST(ImportRun, SaysWhereAStepHasOtherSequences) {
  const std::string arguments = "output_dir: o\nper_device_train_batch_size: 2\nbf16: true\n";
  const std::string engine = R"({"train_micro_batch_size_per_gpu": 2,
                                 "gradient_accumulation_steps": 4})";
  const auto notes = [&](const std::string& more) {
    const v1::ImportRunResponse read =
        Import(FilesOf({{"a.yaml", arguments + more}, {"ds.json", engine}}));
    return std::vector<std::string>(read.notes().begin(), read.notes().end());
  };
  EXPECT_THAT(notes("gradient_accumulation_steps: 8\n"),
              ElementsAre("a step has 16 sequences on each device in a.yaml, and 8 in ds.json: the "
                          "latter counts"));
  EXPECT_THAT(notes("gradient_accumulation_steps: 4\n"), IsEmpty());
}

TEST(ImportRun, TakesTheLaterOfTwoModelsAndSaysSo) {
  const std::string other = R"({"model_type": "qwen2", "hidden_size": 32})";
  const v1::ImportRunResponse read = Import(FilesOf({{"a.json", kModelConfig}, {"b.json", other}}));
  EXPECT_EQ(read.request().model().hugging_face_config(), other);
  EXPECT_THAT(read.notes(),
              ElementsAre("model is given by a.json and, another one, by b.json: the latter "
                          "counts"));
  EXPECT_THAT(Import(FilesOf({{"a.json", kModelConfig}, {"b.json", kModelConfig}})).notes(),
              IsEmpty());
}

// torchtitan names its model; a config.json says what it is, in either order.
TEST(ImportRun, TakesAConfigBeforeAName) {
  const std::string toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  for (const bool first : {true, false}) {
    v1::ImportRunRequest request =
        FilesOf({{"a", first ? kModelConfig : toml}, {"b", first ? toml : kModelConfig}});
    const v1::ImportRunResponse read = Import(request);
    EXPECT_EQ(read.request().model().preset(), "");
    EXPECT_EQ(read.request().model().hugging_face_config(), kModelConfig);
    EXPECT_THAT(read.notes(), IsEmpty());
  }
}

TEST(ImportRun, LetsTheCallerWin) {
  v1::ImportRunRequest request =
      FilesOf({{"",
                "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 512 "
                "--micro-batch-size 2 --make-vocab-size-divisible-by 64"}});
  v1::PlanRunRequest& caller = *request.mutable_request();
  caller.mutable_model()->set_preset("gpt2");
  caller.mutable_layout()->set_micro_batch_size(8);
  const v1::PlanRunRequest read = Import(request).request();
  EXPECT_EQ(read.model().preset(), "gpt2");
  EXPECT_FALSE(read.model().has_architecture());
  EXPECT_EQ(read.model().changes().vocabulary_multiple(), 64);
  EXPECT_EQ(read.layout().micro_batch_size(), 8);
}

TEST(ImportRun, ReplacesListsOfFilesByTheCallers) {
  v1::ImportRunRequest request =
      FilesOf({{"",
                "--num-layers 6 --hidden-size 64 --num-attention-heads 4 --vocab-size 512 "
                "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2"}});
  EXPECT_THAT(Import(request).request().layout().parallel().layers_per_chunk(), ElementsAre(2, 4));
  auto& chunks =
      *request.mutable_request()->mutable_layout()->mutable_parallel()->mutable_layers_per_chunk();
  chunks.Add(4);
  chunks.Add(2);
  EXPECT_THAT(Import(request).request().layout().parallel().layers_per_chunk(), ElementsAre(4, 2));
}

TEST(ImportRun, ClosesWhatAnotherFileGives) {
  const std::string open = R"({"train_batch_size": "auto", "optimizer": {"type": "AdamW"},
      "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}})";
  EXPECT_THAT(Import(FilesOf({{"", open}})).files(0).open(),
              ElementsAre("train_batch_size", "train_micro_batch_size_per_gpu"));
  const v1::ImportRunResponse read =
      Import(FilesOf({{"", open}, {"", "--micro-batch-size 2 --bf16"}}));
  EXPECT_THAT(read.files(0).open(), ElementsAre("train_batch_size"));
  v1::ImportRunRequest given = FilesOf({{"", open}, {"", "--micro-batch-size 2 --bf16"}});
  given.mutable_request()->mutable_layout()->set_global_batch_size(8);
  EXPECT_THAT(Import(given).files(0).open(), IsEmpty());
}

TEST(ImportRun, OpensTheVerdictByWhatIsNotModelled) {
  std::string arguments = "--micro-batch-size 2";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&arguments, " --kitchen-", i, " 1");
  const v1::ImportRunResponse read = Import(FilesOf({{"", arguments}}));
  EXPECT_THAT(read.files(0).not_understood(), SizeIs(100));
  const auto& settings = read.request().layout().unmodelled_settings();
  EXPECT_THAT(settings, SizeIs(64));
  EXPECT_EQ(settings[0], "--kitchen-0");
  EXPECT_EQ(settings[63], "and 37 more");
}

// Which way depends on all that is open; what changes the time alone opens nothing.
TEST(ImportRun, SaysWhichWayWhatIsNotModelledGoes) {
  const auto effect = [](const std::string& more) {
    return Import(FilesOf({{"", "--micro-batch-size 2 " + more}})).request().layout();
  };
  EXPECT_EQ(effect("--fp32-residual-connection").unmodelled_effect(), v1::MEMORY_EFFECT_RAISES);
  EXPECT_EQ(effect("--cpu-offloading").unmodelled_effect(), v1::MEMORY_EFFECT_LOWERS);
  EXPECT_EQ(effect("--cpu-offloading --fp32-residual-connection").unmodelled_effect(),
            v1::MEMORY_EFFECT_UNSPECIFIED);
  EXPECT_EQ(effect("--cpu-offloading --yaml-cfg x").unmodelled_effect(),
            v1::MEMORY_EFFECT_UNSPECIFIED);
  EXPECT_THAT(effect("--window-size 8").unmodelled_settings(), IsEmpty());
  const v1::ImportRunResponse read =
      Import(FilesOf({{"", "--micro-batch-size 2 --window-size 8 --fp32-residual-connection"}}));
  EXPECT_THAT(read.files(0).time_alone(), ElementsAre("--window-size"));
  EXPECT_THAT(read.files(0).raising(), ElementsAre("--fp32-residual-connection"));
  v1::ImportRunRequest given = FilesOf({{"", "--micro-batch-size 2 --cpu-offloading"}});
  given.mutable_request()->mutable_layout()->add_unmodelled_settings("x");
  EXPECT_EQ(Import(given).request().layout().unmodelled_effect(), v1::MEMORY_EFFECT_UNSPECIFIED);
}

TEST(ImportRun, RefusesNamesThatItsProgramDoesNotKnow) {
  EXPECT_THAT(FaultOf("--micro-batch-size 2 --tensor-model-paralel-size 8"),
              HasSubstr("is a list of Megatron-LM arguments: --tensor-model-paralel-size: not "
                        "known: write --tensor-model-parallel-size or "));
  const v1::ImportRunResponse read = Import(FilesOf({{"", "--micro_batch_size 2 --bf16"}}));
  EXPECT_EQ(read.request().layout().micro_batch_size(), 2);
}

TEST(ImportRun, SaysOnceWhatMayLowerMemoryUnlessItIsGiven) {
  v1::ImportRunRequest request =
      FilesOf({{"", R"({"train_batch_size": 8, "zero_optimization": {"stage": 3,
          "offload_optimizer": {"device": "cpu", "ratio": 0.5}}})"}});
  const std::string ratio = "zero_optimization.offload_optimizer.ratio = 0.5";
  EXPECT_THAT(Import(request).request().layout().unmodelled_settings(), ElementsAre(ratio));
  EXPECT_THAT(Import(request).files(0).lowering(), ElementsAre(ratio));
  request.mutable_request()->mutable_layout()->mutable_sharding()->set_offload_optimizer(true);
  EXPECT_THAT(Import(request).request().layout().unmodelled_settings(), IsEmpty());
}

TEST(ImportRun, NamesEachFileThatIsWrong) {
  EXPECT_EQ(FaultOf(v1::ImportRunRequest()), "files is required: give 1 to 16 files");
  std::vector<std::pair<std::string, std::string>> many(17, {"", "--bf16 --num-layers 1"});
  EXPECT_THAT(FaultOf(FilesOf(many)), HasSubstr("files are 17: give at most 16"));
  const std::string two = FaultOf(FilesOf({{"", "{\"a\": [1,\n}"}, {"", kModelConfig}, {"", ""}}));
  EXPECT_THAT(two, StartsWith("files[0].content is no JSON: line 2: unexpected '}'"));
  EXPECT_THAT(two, EndsWith("\nfiles[2].content is empty"));
  EXPECT_THAT(
      FaultOf(R"({"train_batch_size": 0})"),
      HasSubstr("is a DeepSpeed configuration: train_batch_size = 0: write a whole number"));
  v1::ImportRunRequest format = FilesOf({{"", "--bf16"}});
  EXPECT_THAT(FaultOf(format), HasSubstr("is a text of no kind that is read: give a torchtitan"));
  format.mutable_files(0)->set_format("list of Megatron-LM arguments");
  EXPECT_EQ(FaultOf(format), "");
  format.mutable_files(0)->set_format("x");
  EXPECT_THAT(FaultOf(format), HasSubstr("files[0].format is not known: leave it out, or write a"));
}

TEST(ImportRun, SaysWhatKindAFileIsThatItDoesNotRead) {
  const std::pair<const char*, const char*> kinds[] = {
      {R"({"tokenizer_class": "GPT2Tokenizer", "model_max_length": 8})", "is a tokenizer's file"},
      {R"({"metadata": {}, "weight_map": {}})", "is an index of a model's weights: not read"},
      {R"({"cells": [], "nbformat": 4})", "is a notebook: not read; give"},
      {"model:\n  _component_: a.b\nbatch_size: 2\n", "is a torchtune recipe: not read; give its"},
      {"task: llm-sft\nbase_model: a/b\nparams:\n  lr: 1\n",
       "is a configuration of AutoTrain: not read; give its"},
      {R"({"model": {"preset": "gpt2"}, "training": {}})", "is a request of Sextant: not read"},
      {"import torch\nprint(1)\n", "is a Python script: not read; give the command"},
      {"version: 3\nservices: {}\n", "is a YAML file of no kind that is read"},
  };
  for (const auto& [text, says] : kinds) EXPECT_THAT(FaultOf(text), HasSubstr(says)) << text;
}

// "\"0\": 0, \"1\": 0".
std::string Keys(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(absl::StrCat("\"", i, "\":0"));
  return absl::StrJoin(out, ",");
}

std::string Arguments(const std::string& start, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) absl::StrAppend(&out, start, i, " ");
  return out;
}

// Texts that cost a parser its stack, its memory or quadratic time end soon, by a short reason.
// One that takes seconds is over the time that ctest gives the program.
TEST(ImportRun, EndsWhateverTheBytesAre) {
  constexpr size_t kBytes = 256 * 1024;
  const auto times = [](const std::string& text) {
    std::string out;
    while (out.size() + text.size() <= kBytes) out += text;
    return out;
  };
  const std::string texts[] = {
      times("["),
      times("{"),
      times("{\"a\":"),
      times("[{"),
      times("- "),
      times("? "),
      times("a: "),
      times("-\n"),
      times("&a "),
      times("a: &b *b\n"),
      times("a: [*x,"),
      times("\"a"),
      times("'"),
      times("#\n"),
      times("\n"),
      "a = " + times("["),
      "[a]\nb = " + times("{c = "),
      times("[a.b]\n"),
      times("[[a]]\n"),
      "[job]\n" + times("a.b.c.d.e.f.g.h.i = 1\n"),
      times("a.") + " = 1",
      "--micro-batch-size 1 " + times("--a"),
      "--micro-batch-size 1 " + times("--a=b "),
      "--micro-batch-size 1 " + times("\\\n"),
      "--micro-batch-size 1 " + times("-a "),
      "--micro-batch-size 1 " + times("'a' "),
      "--micro-batch-size 1 " + times("a "),
      "{\"zero_optimization\": {\"a\": \"" + times("x"),
      "{\"a\":" + times("[]").substr(1),
      "{\"train_batch_size\": 1, \"a\": \"" + times("_1_").substr(40) + "\"}",
      "a: " + times("1_1_1"),
      "a:\n" + times(" b: 1\n"),
      times("\xff\xfe"),
      times("\xc3"),
      "a: !!" + times("x"),
      "%YAML 1.2\n" + times("%TAG ! a\n"),
      times("--- a\n"),
      times("a: |\n"),
      "[" + times("a.") + "a]",
      "[job]\nx = {" + times("a.") + "a = 1}",
      "[job]\nx = " + times("[{a.a.a = "),
      "[job]\nx = \"\"\"\n'\"\"\"\ny = {" + times("a.") + "a = 1}",
      "{\"train_batch_size\": 1, \"" + std::string(100'000, 'k') + "\": {" + Keys(20'000) + "}}",
      "--micro-batch-size 1 " + Arguments("--recompute-", 15'000),
      "{" + times("\"a\": \"auto\",").substr(40) + "\"train_batch_size\": \"auto\"}",
  };
  for (const std::string& text : texts) {
    v1::ImportRunResponse out;
    const absl::Status status = ImportRun(FilesOf({{"", text.substr(0, kBytes)}}), &out);
    EXPECT_LT(status.message().size(), 900u) << text.substr(0, 60);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("exception"))) << text.substr(0, 60);
  }
}

TEST(FileFormats, HaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const FileFormat& format : FileFormats()) {
    EXPECT_THAT(names, Not(testing::Contains(format.name)));
    names.emplace_back(format.name);
    EXPECT_NE(format.read == nullptr, *format.instead == '\0') << format.name;
    EXPECT_EQ(FormatNamed(format.name), format.read == nullptr ? nullptr : &format);
  }
}

}  // namespace
}  // namespace sextant::server
