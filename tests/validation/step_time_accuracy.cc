// Sends published runs to the service as requests, compares its answers' step times with what was
// measured, and writes a report.
//
//   step_time_accuracy --measured_runs=FILE.csv [--rows] [--translate] [--fit] [--markdown=FILE]
//   [--csv=FILE]
//
// Any file of the same columns does. --rows: a line a row. --translate: what it is
// translated to. --fit: the constants as estimated on all
// rows, in place of the report.
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "tests/support/csv.h"
#include "tests/validation/step_report.h"

namespace sextant {
namespace {

constexpr int kUsageError = 2;

struct Options {
  std::map<std::string, std::string> files = {{"measured_runs", ""}, {"markdown", ""}, {"csv", ""}};
  std::set<std::string> flags = {};
};

absl::StatusOr<Options> OptionsOf(const std::vector<std::string>& arguments) {
  Options out;
  for (const std::string& argument : arguments) {
    absl::string_view text = argument;
    const bool named = absl::ConsumePrefix(&text, "--");
    const size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    const bool flag = name == "rows" || name == "fit" || name == "translate";
    const bool file = equals != absl::string_view::npos && out.files.contains(name);
    if (!named || (!flag && !file)) {
      return absl::InvalidArgumentError(
          absl::StrCat(argument,
                       ": want --measured_runs=FILE.csv, --rows, --translate, --fit, "
                       "--markdown=FILE or --csv=FILE"));
    }
    if (flag) out.flags.insert(name);
    if (file) out.files[name] = std::string(text.substr(equals + 1));
  }
  if (out.files["measured_runs"].empty()) {
    return absl::InvalidArgumentError("want --measured_runs=FILE.csv");
  }
  return out;
}

absl::Status Write(const std::string& path, const std::string& text) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("can't write ", path));
}

absl::Status Run(const Options& options) {
  SEXTANT_ASSIGN_OR_RETURN(const auto table, ReadCsv(options.files.at("measured_runs")));
  if (options.flags.contains("translate")) {
    std::cout << TranslationText(table);
    return absl::OkStatus();
  }
  if (options.flags.contains("rows")) {
    StepAsker asker;
    const StepCases rows = StepCasesOf(table, asker);
    std::cout << RowsText(rows.cases);
    return absl::OkStatus();
  }
  if (options.flags.contains("fit")) {
    std::cout << FitText(table);
    return absl::OkStatus();
  }
  const StepResults results = StepResultsOf(table);
  SEXTANT_RETURN_IF_ERROR(Write(options.files.at("csv"), StepCsv(results)));
  const std::string report = StepReport(results);
  if (!options.files.at("markdown").empty()) return Write(options.files.at("markdown"), report);
  std::cout << report;
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = OptionsOf(arguments);
  if (!options.ok()) {
    std::cerr << options.status().message() << "\n";
    return kUsageError;
  }
  const absl::Status status = Run(*options);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sextant

int main(int argc, char** argv) {
  return sextant::Main(std::vector<std::string>(argv + 1, argv + argc));
}
