#include "gpu_probe/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"

namespace sextant::probe {
namespace {

constexpr int64_t kMaxDimension = 1000000;
constexpr double kMaxAgeSeconds = 3650 * 86400.0;
constexpr double kMaxBytes = 9007199254740992.0;  // 2^53: all whole doubles up to it exist

struct NamedType {
  absl::string_view name;
  v1::DataType type;
};

// The types that either backend multiplies. fp8 is E4M3, the type of forward passes; the API's name
// is accepted as well.
constexpr NamedType kMultipliedTypes[] = {
    {"fp64", v1::DATA_TYPE_FP64},    {"fp32", v1::DATA_TYPE_FP32},
    {"tf32", v1::DATA_TYPE_TF32},    {"fp16", v1::DATA_TYPE_FP16},
    {"bf16", v1::DATA_TYPE_BF16},    {"int8", v1::DATA_TYPE_INT8},
    {"fp8", v1::DATA_TYPE_FP8_E4M3}, {"fp8_e4m3", v1::DATA_TYPE_FP8_E4M3},
    {"mxfp8", v1::DATA_TYPE_MXFP8},  {"nvfp4", v1::DATA_TYPE_NVFP4}};

struct Unit {
  absl::string_view name;
  double factor;
};

// Parses a decimal number with one of `units`; absent for anything else.
absl::optional<double> NumberWithUnit(absl::string_view text, absl::Span<const Unit> units) {
  const size_t end = text.find_last_of("0123456789.");
  if (end == absl::string_view::npos) return absl::nullopt;
  const absl::string_view number = text.substr(0, end + 1);
  double value = 0;
  if (number.find_first_not_of("0123456789.") != absl::string_view::npos ||
      !absl::SimpleAtod(number, &value)) {
    return absl::nullopt;
  }
  for (const Unit& unit : units) {
    if (text.substr(end + 1) == unit.name) return value * unit.factor;
  }
  return absl::nullopt;
}

constexpr size_t kMaxMatmulCount = 16;

// Options as text, where CLI11 can't parse their values.
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
  // Only for the experiment that measures the host's part of a sample.
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
  if (texts.matmuls.size() > kMaxMatmulCount) {
    return absl::InvalidArgumentError(absl::StrCat("--matmul was given ", texts.matmuls.size(),
                                                   " times, more than ", kMaxMatmulCount));
  }
  for (const std::string& text : texts.matmuls) {
    SEXTANT_ASSIGN_OR_RETURN(v1::MatmulShape shape, ParseMatmulShape(text));
    if (shape.data_type() == v1::DATA_TYPE_UNSPECIFIED) shape.set_data_type(type);
    options->matmuls.push_back(std::move(shape));
  }
  return absl::OkStatus();
}

// No option accepts an empty value, and CLI11 would take the next argument for it.
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

absl::StatusOr<v1::ProbeMode> ParseProbeMode(absl::string_view text) {
  if (text == "quick") return v1::PROBE_MODE_QUICK;
  if (text == "standard") return v1::PROBE_MODE_STANDARD;
  if (text == "full") return v1::PROBE_MODE_FULL;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a mode; write one of quick, standard, full"));
}

absl::StatusOr<double> ParseBudgetSeconds(absl::string_view text) {
  constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
  const absl::optional<double> seconds = NumberWithUnit(text, kUnits);
  if (seconds.has_value() && *seconds >= kMinBudgetSeconds && *seconds <= kMaxBudgetSeconds) {
    return *seconds;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a budget; write a time from 100ms to 1h, such as 5s, 500ms or 2m"));
}

absl::StatusOr<double> ParseAgeSeconds(absl::string_view text) {
  constexpr Unit kUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const absl::optional<double> seconds = NumberWithUnit(text, kUnits);
  if (seconds.has_value() && *seconds > 0 && *seconds <= kMaxAgeSeconds) return *seconds;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not an age; write one of at most 3650d with its unit, such as 7d or 36h"));
}

absl::StatusOr<int64_t> ParseByteCount(absl::string_view text) {
  constexpr Unit kUnits[] = {
      {"", 1},      {"B", 1},         {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1099511627776.0}};
  const absl::optional<double> bytes = NumberWithUnit(text, kUnits);
  if (bytes.has_value() && *bytes >= 1 && *bytes <= kMaxBytes && std::trunc(*bytes) == *bytes) {
    return static_cast<int64_t>(*bytes);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a whole number of bytes; write one such as 1073741824, ",
                   "2GiB (2^30 each) or 2GB (1e9 each), at most 2^53"));
}

absl::StatusOr<v1::DataType> ParseDataType(absl::string_view text) {
  for (const NamedType& known : kMultipliedTypes) {
    if (text == known.name) return known.type;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a type to multiply in; write ",
      absl::StrJoin(kMultipliedTypes, ", ", [](std::string* out, const NamedType& known) {
        absl::StrAppend(out, known.name);
      })));
}

absl::StatusOr<v1::MatmulShape> ParseMatmulShape(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  v1::MatmulShape shape;
  if (parts.size() == 2) {
    SEXTANT_ASSIGN_OR_RETURN(const v1::DataType type, ParseDataType(parts[1]));
    shape.set_data_type(type);
  }
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[0], 'x');
  std::vector<int64_t> values;
  for (const absl::string_view size : sizes) {
    int64_t value = 0;
    const bool digits = size.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!digits || !absl::SimpleAtoi(size, &value) || value < 1 || value > kMaxDimension) break;
    values.push_back(value);
  }
  if (sizes.size() != 3 || values.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a shape; write MxNxK or MxNxK:TYPE with sizes from 1 to ",
        kMaxDimension, ", such as 1024x4096x1024:bf16"));
  }
  shape.set_m(values[0]);
  shape.set_n(values[1]);
  shape.set_k(values[2]);
  return shape;
}

double BudgetSecondsOf(const ProbeOptions& options) {
  return options.budget_seconds > 0 ? options.budget_seconds
                                    : DefaultBudgetSeconds(options.mode, !options.matmuls.empty());
}

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
  check->allow_extras();  // rejected later: they are misplaced
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

}  // namespace sextant::probe
