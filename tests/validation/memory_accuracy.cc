// Sends published runs to the service as requests, compares its answers' memory with what was
// measured, and writes a report.
//
//   memory_accuracy --megatron_ci=FILE.csv --measured_runs=FILE.csv --output=REPORT.md
//       --figures=FIGURES.csv
//
// Either table may be left out; any file of the same columns does. Without --output the report goes
// to standard output. With --figures every figure goes to a table too, with its interval.
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "tests/support/csv.h"
#include "tests/validation/answer.h"
#include "tests/validation/figures_file.h"
#include "tests/validation/report.h"

namespace sextant {
namespace {

constexpr int kUsageError = 2;

struct Options {
  std::map<std::string, std::string> files = {
      {"megatron_ci", ""}, {"measured_runs", ""}, {"output", ""}, {"figures", ""}};
};

absl::StatusOr<Options> OptionsOf(const std::vector<std::string>& arguments) {
  Options out;
  for (const std::string& argument : arguments) {
    absl::string_view text = argument;
    const size_t equals = text.find('=');
    const bool named = absl::ConsumePrefix(&text, "--") && equals != absl::string_view::npos;
    const std::string name = named ? std::string(text.substr(0, equals - 2)) : "";
    const auto found = out.files.find(name);
    if (found == out.files.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(argument,
                       ": want --megatron_ci=FILE.csv, --measured_runs=FILE.csv, --output=FILE or "
                       "--figures=FILE.csv"));
    }
    found->second = argument.substr(equals + 1);
  }
  if (out.files["megatron_ci"].empty() && out.files["measured_runs"].empty()) {
    return absl::InvalidArgumentError("want --megatron_ci=FILE.csv or --measured_runs=FILE.csv");
  }
  return out;
}

absl::StatusOr<std::vector<CsvRow>> RowsOf(const std::string& path) {
  if (path.empty()) return std::vector<CsvRow>();
  return ReadCsv(path);
}

std::string FileName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Without folders, so that the report is the same wherever it is made.
std::string CommandOf(const Options& options) {
  std::string out = "memory_accuracy";
  for (const char* name : {"megatron_ci", "measured_runs", "output", "figures"}) {
    const std::string& path = options.files.at(name);
    if (!path.empty()) absl::StrAppend(&out, " --", name, "=", FileName(path));
  }
  return out;
}

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  return out ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("can't write ", path));
}

absl::Status Run(const Options& options) {
  SEXTANT_ASSIGN_OR_RETURN(const auto megatron_ci, RowsOf(options.files.at("megatron_ci")));
  SEXTANT_ASSIGN_OR_RETURN(const auto measured_runs, RowsOf(options.files.at("measured_runs")));
  const Answers answers = AnswersOf(megatron_ci, measured_runs);
  const std::string& figures = options.files.at("figures");
  if (!figures.empty()) {
    SEXTANT_RETURN_IF_ERROR(Write(figures, FiguresCsv(FigureLinesOf(answers.answered))));
  }
  const std::string report = ReportOf(answers, CommandOf(options));
  const std::string& output = options.files.at("output");
  if (!output.empty()) return Write(output, report);
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
