#include "client/accounting_parsers.h"

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "client/command_parts.h"
#include "client/enum_names.h"
#include "client/help_text.h"
#include "client/number.h"

namespace sextant {
namespace {

std::string CheckNumber(const std::string& text) {
  return std::string(ParseNumber(text).status().message());
}

// `text` has passed CheckNumber.
double Number(const std::string& text) { return ParseNumber(text).value_or(0); }

std::string Choices(const google::protobuf::EnumDescriptor& type) {
  return absl::StrJoin(EnumNames(type), "|");
}

}  // namespace

void AddDataType(CLI::App* app, CommandLine* line) {
  CLI::App* show = AddCommand("dtype", "Show what a number format can hold", kDataTypeHelp, app);
  AddChoices(show->add_option_function<std::string>(
                 "NAME",
                 [line](const std::string& name) {
                   line->data_type_request.set_data_type(static_cast<v1::DataType>(
                       EnumNumber(*v1::DataType_descriptor(), name).value_or(0)));
                 },
                 "one format; default: a table of all"),
             Choices(*v1::DataType_descriptor()));
  const auto values = [line](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) line->data_type_request.add_values(Number(text));
  };
  CLI::Option* name = show->get_option("NAME");
  show->add_option_function<std::vector<std::string>>("--value", values,
                                                      "what this number becomes; repeatable")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->check(Check(CheckNumber))
      ->needs(name);
  AddChoices(show->add_option_function<std::string>(
                     "--overflow",
                     [line](const std::string& rule) {
                       line->data_type_request.set_overflow_rule(static_cast<v1::OverflowRule>(
                           EnumNumber(*v1::OverflowRule_descriptor(), rule).value_or(0)));
                     },
                     "what too large a number becomes; default: the format's rule")
                 ->needs(name),
             Choices(*v1::OverflowRule_descriptor()));
  show->add_option_function<std::string>(
          "--block-maximum",
          [line](const std::string& text) {
            line->data_type_request.set_block_maximum(Number(text));
          },
          "largest number of the values' block; default: each's own")
      ->type_name("NUMBER")
      ->check(Check(CheckNumber))
      ->needs(name);
  show->final_callback([line] { line->command = Command::kDataType; });
}

}  // namespace sextant
