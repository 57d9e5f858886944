#include "client/count_parser.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/command_parts.h"
#include "client/count_flags.h"
#include "client/field_flag.h"
#include "client/help_text.h"

namespace sextant {
namespace {

// A preset's name is the server's to know.
std::string CheckModel(const std::string& text) {
  if (!IsConfigFile(text)) return "";
  const std::string wrong = CheckFileOrInput(text);
  return wrong.empty() ? "" : absl::StrCat(wrong, "; no preset has a / or .json in its name");
}

std::string CheckSequences(const std::string& text) {
  v1::TrainingStep step;
  return std::string(AddSequences(text, &step).message());
}

std::string CheckChunks(const std::string& text) {
  v1::ParallelLayout layout;
  return std::string(ReadChunks(text, &layout).message());
}

void AddModel(CLI::App* app, CountCommand* command) {
  app->add_option("MODEL", command->model, "a preset's name, or a config.json; - is stdin")
      ->type_name("")
      ->check(Check(CheckModel));
  app->add_option("--architecture", command->architecture_file,
                  "instead of it: an Architecture in proto JSON")
      ->type_name("FILE")
      ->check(Check(CheckFileOrInput));
}

void AddSequenceFlag(CLI::App* app, v1::CountModelRequest* request) {
  const auto take = [request](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      (void)AddSequences(text, request->mutable_step());  // has passed CheckSequences()
    }
  };
  app->add_option_function<std::vector<std::string>>(
         "--sequence-length,--sequence", take,
         "count FLOPs: [COUNTx]LENGTH[:ENCODER_LENGTH]; repeatable")
      ->type_name("SEQUENCES")
      ->allow_extra_args(false)
      ->check(Check(CheckSequences))
      ->group(kStepGroup);
}

void AddChunksFlag(CLI::App* app, v1::CountModelRequest* request) {
  app->add_option_function<std::string>(
         "--layers-per-chunk",
         [request](const std::string& text) {
           (void)ReadChunks(text, request->mutable_layout());  // has passed CheckChunks()
         },
         "of each, 8x8x8x7; default: as many in each")
      ->type_name("SIZES")
      ->check(Check(CheckChunks))
      ->group(kLayoutGroup);
}

// The last word on flags that are each right.
void Finish(CommandLine* line) {
  const CountCommand& count = line->count;
  if (count.model.empty() == count.architecture_file.empty()) {
    throw CLI::ValidationError(
        "give the model in one way: a preset's name, a config.json or --architecture");
  }
  const bool counts_flops = count.conventions || count.kaplan || count.request.has_step();
  if (counts_flops && count.request.step().sequences().empty()) {
    throw CLI::ValidationError(
        "FLOPs depend on how long sequences are: with --conventions, --kaplan, --recompute and "
        "--expert-capacity-factor, give --sequence=LENGTH, e.g. --sequence=4096");
  }
  line->command = Command::kCount;
}

}  // namespace

void AddCount(CLI::App* app, CommandLine* line) {
  CLI::App* command =
      AddCommand("count", "Count a model's parameters and FLOPs, whole or by GPU", kCountHelp, app);
  v1::CountModelRequest* request = &line->count.request;
  AddModel(command, &line->count);
  AddFieldFlag({"--include-tensors,--tensors", "include_tensors", "list every parameter tensor"},
               request, command);
  AddSequenceFlag(command, request);
  command->add_flag("--conventions", line->count.conventions, "FLOPs as others count them")
      ->group(kStepGroup);
  command->add_flag("--kaplan", line->count.kaplan, "Kaplan's table of FLOPs, row by row")
      ->group(kStepGroup);
  for (const FieldFlag& flag : CountFlags()) AddFieldFlag(flag, request, command);
  AddChunksFlag(command, request);
  command->final_callback([line] { Finish(line); });
}

}  // namespace sextant
