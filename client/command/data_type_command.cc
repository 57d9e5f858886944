// `sextant dtype`: shows what a number format can hold.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/words.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kDataTypeHelp[] =
    "Examples:\n"
    "  sextant dtype                           all formats: layout, range, storage\n"
    "  sextant dtype bf16\n"
    "  Does 1e-8 survive in fp16?\n"
    "    sextant dtype fp16 --value=1e-8\n"
    "  What becomes of 7.9 next to 100 in a block of nvfp4?\n"
    "    sextant dtype nvfp4 --value=7.9 --block-maximum=100\n";

// Shows all types where `request` names none.
int RunDataType(const v1::DescribeDataTypeRequest& request, const CommandLine& line,
                const Streams& streams) {
  if (request.data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    return CallAndShow(line, streams, &v1::AccountingService::Stub::ListDataTypes,
                       v1::ListDataTypesRequest(), NumberFormatTable);
  }
  return CallAndShow(line, streams, &v1::AccountingService::Stub::DescribeDataType, request,
                     NumberFormatText);
}

void AddDataTypeFlags(CLI::App* command, CommandLine* line) {
  const auto request = std::make_shared<v1::DescribeDataTypeRequest>();
  CLI::Option* name = AddEnum(
      "NAME", "one format; default: a table of all", *v1::DataType_descriptor(),
      [request](int type) { request->set_data_type(static_cast<v1::DataType>(type)); }, command);
  AddTexts(
      "--value", "what this number becomes; repeatable",
      [request](const std::string& text) {
        const absl::StatusOr<double> value = ParseNumber(text);
        if (value.ok()) request->add_values(*value);
        return value.status();
      },
      command)
      ->type_name("NUMBER")
      ->needs(name);
  AddEnum(
      "--overflow", "what too large a number becomes; default: the format's rule",
      *v1::OverflowRule_descriptor(),
      [request](int rule) { request->set_overflow_rule(static_cast<v1::OverflowRule>(rule)); },
      command)
      ->needs(name);
  AddText(
      "--block-maximum", "largest number of the values' block; default: each's own",
      [request](const std::string& text) {
        const absl::StatusOr<double> maximum = ParseNumber(text);
        if (maximum.ok()) request->set_block_maximum(*maximum);
        return maximum.status();
      },
      command)
      ->type_name("NUMBER")
      ->needs(name);
  OnceRead(command, line, request, RunDataType);
}

}  // namespace

const Command kDataTypeCommand = {"dtype", "Show what a number format can hold", kDataTypeHelp,
                                  AddDataTypeFlags};

}  // namespace sextant::client
