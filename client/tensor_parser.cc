#include "client/tensor_parser.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command_parts.h"
#include "client/field_flag.h"
#include "client/help_text.h"
#include "client/sizes.h"
#include "client/tensor_step.h"

namespace sextant {
namespace {

std::string CheckTensorShape(const std::string& text) {
  return std::string(ParseShape(text).status().message());
}

std::string CheckStrides(const std::string& text) {
  return std::string(ParseSizes(text).status().message());
}

std::string CheckStep(const std::string& text) {
  v1::TensorStep step;
  return std::string(ReadTensorStep(text, &step).message());
}

// Both have passed their checks.
void AddTo(const absl::StatusOr<std::vector<int64_t>>& values,
           google::protobuf::RepeatedField<int64_t>* field) {
  if (values.ok()) field->Add(values->begin(), values->end());
}

void AddSteps(CLI::App* command, CommandLine* line) {
  const auto take = [line](const std::vector<std::string>& texts) {
    line->tensor_steps = texts;
    for (const std::string& text : texts) {
      (void)ReadTensorStep(text, line->tensor_request.add_steps());  // has passed CheckStep()
    }
  };
  command
      ->add_option_function<std::vector<std::string>>("STEP", take,
                                                      "what is done with it, e.g. \"view 4 -1\"")
      ->type_name("")
      ->check(Check(CheckStep));
}

}  // namespace

void AddTensor(CLI::App* app, CommandLine* line) {
  CLI::App* command =
      AddCommand("tensor", "Follow a tensor through views and copies", kTensorHelp, app);
  v1::TensorSpec* tensor = line->tensor_request.mutable_tensor();
  command
      ->add_option_function<std::string>(
          "SHAPE",
          [tensor](const std::string& text) { AddTo(ParseShape(text), tensor->mutable_shape()); },
          "4x8x64, or scalar")
      ->type_name("")
      ->check(Check(CheckTensorShape))
      ->required();
  AddSteps(command, line);
  AddFieldFlag(
      {"--data-type,--dtype", "tensor.data_type", "its number format; sextant dtype lists them"},
      &line->tensor_request, command)
      ->option_text("TYPE REQUIRED")
      ->required();
  command
      ->add_option_function<std::string>(
          "--strides",
          [tensor](const std::string& text) { AddTo(ParseSizes(text), tensor->mutable_strides()); },
          "in elements, one an axis, 512x64x1; default: row-major")
      ->type_name("STRIDES")
      ->check(Check(CheckStrides));
  AddFieldFlag({"--offset-elements,--offset", "tensor.offset_elements",
                "storage position of its first element; default: 0"},
               &line->tensor_request, command);
  AddFieldFlag({"--storage-elements,--storage", "tensor.storage_elements",
                "elements of the storage; default: what it reaches"},
               &line->tensor_request, command);
  command->final_callback([line] { line->command = Command::kTensor; });
}

void AddTokens(CLI::App* app, CommandLine* line) {
  CLI::App* command =
      AddCommand("tokens", "Size token files, and how fast they are read", kTokensHelp, app);
  v1::DescribeTokensRequest* request = &line->tokens_request;
  AddFieldFlag({"COUNT", "token_count", "how many tokens, e.g. 15T"}, request, command)
      ->type_name("")
      ->required();
  AddFieldFlag({"--vocabulary-size,--vocabulary", "vocabulary_size", "tokens in the vocabulary"},
               request, command);
  AddFieldFlag({"--bytes-per-id", "bytes_per_id", "1, 2, 4 or 8: instead of it"}, request, command);
  AddFieldFlag({"--tokens-per-second", "tokens_per_second", "that a run reads"}, request, command);
  command->final_callback([request, line] {
    if (request->has_vocabulary_size() == request->has_bytes_per_id()) {
      throw CLI::ValidationError("give one of --vocabulary and --bytes-per-id");
    }
    line->command = Command::kTokens;
  });
}

}  // namespace sextant
