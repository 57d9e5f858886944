#include "gpu_probe/health/check_options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/option_values.h"

namespace sextant {
namespace {

constexpr char kFooter[] =
    "Exit codes, of check alone: those of monitoring plugins (Nagios, Icinga)\n"
    "  0  OK: as fast as it was, and as its peers\n"
    "  1  WARNING: measured too long ago, or slower than it was as all its peers are\n"
    "  2  CRITICAL: slower than it was, or than its peers; a figure is lost; a result was wrong\n"
    "  3  UNKNOWN: not measured, nothing to compare with, no calibration, a damaged one, one from "
    "the\n"
    "     future, rates that can't be; a wrong command line; --help\n"
    "\n"
    "Example: sextant-probe check /var/lib/sextant-probe\n"
    "Example: sextant-probe check --measure --keep=/var/lib/sextant-probe /var/lib/sextant-probe";

// A share of 1, both ends left out.
CLI::Option* AddShare(CLI::App& app, const std::string& name, double& value,
                      const std::string& help) {
  return app.add_option(name, value, help)
      ->check(CLI::Range(1e-6, 1 - 1e-6).description(""))
      ->type_name("SHARE")
      ->capture_default_str();
}

// Options as written, where their values are not what CLI11 reads.
struct OptionTexts {
  std::string budget = {};
  std::string max_age = "7d";
  std::string format = "text";
};

void DefineWhat(CLI::App& app, CheckOptions& options, OptionTexts& texts) {
  app.add_option("PATH", options.paths,
                 "calibration files, or folders of them (*.json): of each device the newest is "
                 "judged, those before it are its history, other devices its peers")
      ->type_name("");
  app.add_option("--device", options.device, "judge this device only; default: each")
      ->type_name("UUID");
  app.add_flag("--measure", options.measure,
               "measure this host first (quick, some 2 s), and judge that");
  app.add_option("--budget", texts.budget,
                 "with --measure: time to measure in, more for a busy host; 100ms to 1h (default: "
                 "2s)")
      ->type_name("TIME");
  app.add_option("--keep", options.keep,
                 "with --measure: add the calibration to this folder, as UUID-TIME.json")
      ->type_name("FOLDER");
}

void DefineHow(CLI::App& app, HealthLimits& limits, OptionTexts& texts) {
  AddShare(app, "--history_tolerance", limits.history_tolerance,
           "slower than the median of its last 5 measurements by more than this is bad");
  AddShare(app, "--peer_tolerance", limits.peer_tolerance,
           "slower than the median of its peers by more than this, and by --peer_z, is bad");
  app.add_option("--peer_z", limits.peer_z, "standard deviations of its peers behind them")
      ->check(CLI::Range(1.0, 100.0).description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
  AddShare(app, "--limit_tolerance", limits.limit_tolerance,
           "faster than the registers at the same clock by more than this: wrongly measured");
  app.add_option("--max_age", texts.max_age, "warn where the newest measurement is older")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--format", texts.format, "text: a plugin's output; json: one line, all figures")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json")
      ->capture_default_str();
}

// CLI11's ranges let through what is no number.
bool IsNumber(const HealthLimits& limits) {
  return !std::isnan(limits.history_tolerance + limits.peer_tolerance + limits.limit_tolerance +
                     limits.peer_z);
}

absl::Status CheckTogether(const CheckOptions& options) {
  if (!IsNumber(options.limits)) return absl::InvalidArgumentError("a limit is \"nan\": no number");
  for (const std::string& path : options.paths) {
    if (path.empty()) return absl::InvalidArgumentError("an empty PATH: leave it out");
  }
  if (options.paths.empty() && !options.measure) {
    return absl::InvalidArgumentError(
        "nothing to judge: name calibration files or folders, or give --measure");
  }
  if (!options.measure && (!options.keep.empty() || options.budget_seconds > 0)) {
    return absl::InvalidArgumentError("--keep and --budget are for what --measure measures");
  }
  if (!options.device.empty() && options.measure) {
    return absl::InvalidArgumentError("--measure judges this host's device: leave out --device");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::variant<CheckOptions, AskedText>> ParseCheckOptions(
    const std::vector<std::string>& args) {
  CheckOptions options;
  OptionTexts texts;
  CLI::App app("sextant-probe check: judges devices by what was measured of them",
               "sextant-probe check");
  app.set_version_flag("--version", absl::StrCat("sextant-probe ", EngineVersion()));
  DefineWhat(app, options, texts);
  DefineHow(app, options.limits, texts);
  app.footer(kFooter);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them reversed
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    return AskedText{text.str()};
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), "; see sextant-probe check --help"));
  }
  SEXTANT_ASSIGN_OR_RETURN(options.limits.max_age_seconds, ParseAgeSeconds(texts.max_age));
  if (!texts.budget.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(options.budget_seconds, ParseBudgetSeconds(texts.budget));
  }
  options.json = texts.format == "json";
  SEXTANT_RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

}  // namespace sextant
