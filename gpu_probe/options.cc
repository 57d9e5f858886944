#include "gpu_probe/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/budget.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/option_values.h"

namespace sextant {
namespace {

constexpr size_t kMaximumMatmulCount = 16;

// Options as written, where their values are not what CLI11 reads.
struct OptionTexts {
  std::string hold = "auto";
  std::string mode;
  std::string budget;
  std::string memory_cap;
  std::string dtype;
  std::vector<std::string> matmuls;
};

void DefineWhat(CLI::App& app, ProbeOptions& options, OptionTexts& texts) {
  app.add_option("--backend", options.backend,
                 "what to measure: cuda is this host's NVIDIA GPUs; host is its processor; auto is "
                 "the GPUs where CUDA sees one, else the processor")
      ->check(CLI::IsMember({"auto", "host", "cuda"}).description(""))
      ->type_name("auto|host|cuda")
      ->capture_default_str();
  app.add_option(
         "--device", options.device,
         "the device to measure, by its UUID as --list shows it (default: the first); one run "
         "measures one")
      ->type_name("UUID");
  app.add_option("--mode", texts.mode, "how thoroughly (default: standard)")
      ->type_name("quick|standard|full");
  app.add_option(
         "--budget", texts.budget,
         absl::StrFormat("no sample starts that would end later; what is not measured by "
                         "then is left out; 100ms to 1h (default: %gs quick, %gs standard, "
                         "%gs full; %gs more with --matmul)",
                         DefaultBudgetSeconds(v1::PROBE_MODE_QUICK, false),
                         DefaultBudgetSeconds(v1::PROBE_MODE_STANDARD, false),
                         DefaultBudgetSeconds(v1::PROBE_MODE_FULL, false), kOwnShapesSeconds))
      ->type_name("TIME");
  app.add_option("--matmul", texts.matmuls,
                 "time C[m,n] = A[m,k] B[k,n] of this shape in place of the grid; up to 16 times")
      ->expected(1)
      ->take_all()
      ->type_name("MxNxK[:TYPE]");
  app.add_option(
         "--dtype", texts.dtype,
         "type of the shapes that name none: fp32, bf16 or int8; on a GPU also fp64, tf32, fp16, "
         "fp8 (E4M3), mxfp8 or nvfp4 (default: bf16 where the device has it, else fp32)")
      ->type_name("TYPE");
  app.add_flag("--list", options.list, "list the devices, measure nothing");
}

void DefineHow(CLI::App& app, ProbeOptions& options, OptionTexts& texts) {
  app.add_option("--format", options.format,
                 "json: a line an event; text: tables; auto: text on a terminal, else json")
      ->check(CLI::IsMember({"auto", "json", "text"}).description(""))
      ->type_name("auto|json|text")
      ->capture_default_str();
  app.add_option("--output", options.output, "write the calibration as JSON to this file too")
      ->type_name("FILE");
  app.add_option("--onednn_library", options.onednn_library,
                 "oneDNN's shared library (default: libdnnl.so.2 or .3 where the system has it; "
                 "without one the probe's own kernels)")
      ->type_name("PATH");
  app.add_option("--library_folder", options.library_folder,
                 "folder of CUDA's libraries cuBLASLt, cuDNN and NCCL (default: where the system "
                 "has them)")
      ->type_name("PATH");
  // For the experiment that tells how much of a sample the host would be: of no use otherwise.
  app.add_option("--hold", texts.hold, "auto or never: hold a GPU's stream before short samples")
      ->check(CLI::IsMember({"auto", "never"}).description(""))
      ->group("");
  app.add_option(
         "--memory_cap", texts.memory_cap,
         "use no more memory than this, e.g. 2GiB (default: a quarter of what is free; of a "
         "GPU 2GiB at most)")
      ->type_name("BYTES");
  app.add_option("--parent_pid", options.parent_pid,
                 "run in the background of this process, and end when it ends")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31).description(""))
      ->type_name("PID");
}

absl::Status ReadShapes(const OptionTexts& texts, ProbeOptions* options) {
  v1::DataType type = v1::DATA_TYPE_UNSPECIFIED;
  if (!texts.dtype.empty()) {
    if (texts.matmuls.empty()) {
      return absl::InvalidArgumentError("--dtype is the type of --matmul: give a shape as well");
    }
    SEXTANT_ASSIGN_OR_RETURN(type, ParseDataType(texts.dtype));
  }
  if (texts.matmuls.size() > kMaximumMatmulCount) {
    return absl::InvalidArgumentError(absl::StrCat("--matmul was given ", texts.matmuls.size(),
                                                   " times, more than ", kMaximumMatmulCount));
  }
  for (const std::string& text : texts.matmuls) {
    SEXTANT_ASSIGN_OR_RETURN(v1::MatmulShape shape, ParseMatmulShape(text));
    if (shape.data_type() == v1::DATA_TYPE_UNSPECIFIED) shape.set_data_type(type);
    options->matmuls.push_back(std::move(shape));
  }
  return absl::OkStatus();
}

// No option has a use for an empty value, and CLI11 would take the next argument for it.
absl::Status CheckNoneEmpty(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& option = args[i].empty() && i > 0 ? args[i - 1] : args[i];
    const bool without_value =
        absl::StartsWith(args[i], "--") && args[i].find('=') == args[i].size() - 1;
    if (!args[i].empty() && !without_value) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", option,
                     "\" is followed by an empty value: write one, or leave the option out; see "
                     "sextant-probe --help"));
  }
  return absl::OkStatus();
}

absl::Status ReadTexts(const OptionTexts& texts, ProbeOptions* options) {
  options->hold = texts.hold != "never";
  if (!texts.mode.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(options->mode, ParseProbeMode(texts.mode));
  }
  if (!texts.budget.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(options->budget_seconds, ParseBudgetSeconds(texts.budget));
  }
  if (!texts.memory_cap.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(options->memory_cap_bytes, ParseByteCount(texts.memory_cap));
  }
  if (options->list && (!options->output.empty() || !texts.matmuls.empty())) {
    return absl::InvalidArgumentError("--list measures nothing: leave out --output and --matmul");
  }
  if (!options->output.empty()) SEXTANT_RETURN_IF_ERROR(CheckReplaceable(options->output));
  return ReadShapes(texts, options);
}

}  // namespace

absl::StatusOr<std::variant<ProbeOptions, AskedText>> ParseProbeOptions(
    const std::vector<std::string>& args) {
  SEXTANT_RETURN_IF_ERROR(CheckNoneEmpty(args));
  ProbeOptions options;
  OptionTexts texts;
  CLI::App app("sextant-probe: measures the devices of this host", "sextant-probe");
  app.set_version_flag("--version", absl::StrCat("sextant-probe ", EngineVersion()));
  DefineWhat(app, options, texts);
  DefineHow(app, options, texts);
  CLI::App* const check = app.add_subcommand(
      "check", "judge devices by their calibrations, as a monitoring plugin; see check --help");
  check->allow_extras();  // whatever they are, they are at the wrong place
  app.footer(
      absl::StrCat(kExitCodeHelp,
                   "\nThose of check are a monitoring plugin's; see sextant-probe check --help"
                   "\n\nExample: sextant-probe --mode=quick --output=calibration.json\n"
                   "Example: sextant-probe --matmul=4096x4096x4096 --dtype=bf16"));
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them reversed
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    return AskedText{text.str()};
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), "; see sextant-probe --help"));
  }
  if (check->parsed()) {
    return absl::InvalidArgumentError(
        "check comes first, and has options of its own; see sextant-probe check --help");
  }
  SEXTANT_RETURN_IF_ERROR(ReadTexts(texts, &options));
  return options;
}

}  // namespace sextant
