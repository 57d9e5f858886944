#include "client/rates_parser.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/command_parts.h"
#include "client/enum_names.h"
#include "client/help_text.h"

namespace sextant {
namespace {

// A data type's name, "bf16"; unspecified: none.
v1::DataType TypeNamed(const std::string& name) {
  v1::DataType type = v1::DATA_TYPE_UNSPECIFIED;
  v1::DataType_Parse(absl::StrCat("DATA_TYPE_", absl::AsciiStrToUpper(name)), &type);
  return type;
}

std::string CheckType(const std::string& name) {
  if (TypeNamed(name) != v1::DATA_TYPE_UNSPECIFIED) return "";
  return absl::StrCat("\"", name, "\" is no data type; sextant dtype lists them");
}

// The last word on flags that are each right.
void Finish(const std::vector<std::string>& devices, CommandLine* line) {
  RatesCommand& rates = line->rates;
  if (devices.empty() == rates.calibration_files.empty()) {
    throw CLI::ValidationError(
        "name one product (sextant accelerators), devices of the server (sextant devices), or "
        "files of calibrations by --calibration");
  }
  for (const std::string& device : devices) {
    const std::string wrong = AddRatesDevice(device, &rates.request);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
  }
  line->command = Command::kRates;
}

}  // namespace

void AddRates(CLI::App* app, CommandLine* line) {
  RatesCommand* rates = &line->rates;
  CLI::App* command =
      AddCommand("rates", "Show how fast kernels of growing size run on a device", kRatesHelp, app);
  auto devices = std::make_shared<std::vector<std::string>>();
  command->add_option("DEVICE", *devices,
                      "a product, or UUIDs of the server's devices; host: its CPU");
  command
      ->add_option("--calibration", rates->calibration_files,
                   "one of: sextant calibration --save; repeatable, up to 16")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->check(Check(CheckFile));
  command
      ->add_option_function<std::vector<std::string>>(
          "--dtype",
          [rates](const std::vector<std::string>& names) {
            for (const std::string& name : names) rates->request.add_data_types(TypeNamed(name));
          },
          "of the operands; repeatable; default: all that was measured")
      ->allow_extra_args(false)
      ->type_name("TYPE")
      ->check(Check(CheckType));
  command->add_option("--svg", rates->svg_file, "also draw the curves into this file")
      ->type_name("FILE");
  command->final_callback([devices, line] { Finish(*devices, line); });
}

}  // namespace sextant
