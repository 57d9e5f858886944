// The probe's command line: its options, their values from text as users write it, and how long a
// probe may take.
#ifndef SEXTANT_GPU_PROBE_OPTIONS_H_
#define SEXTANT_GPU_PROBE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// In seconds from the probe's start.
inline constexpr double kMinBudgetSeconds = 0.1;
inline constexpr double kMaxBudgetSeconds = 3600;

// Extra seconds for requested shapes, which may be large.
inline constexpr double kOwnShapesSeconds = 120;

// The soft deadline where the user gives none.
constexpr double DefaultBudgetSeconds(v1::ProbeMode mode, bool own_shapes) {
  const double more_seconds = own_shapes ? kOwnShapesSeconds : 0;
  if (mode == v1::PROBE_MODE_QUICK) return 2 + more_seconds;
  if (mode == v1::PROBE_MODE_FULL) return 30 + more_seconds;
  return 5 + more_seconds;
}

// The largest share of a budget that is kept for the end of the process.
inline constexpr double kMaxEndingShare = 0.1;

// The time by which one figure of each kind must be measured where the host is so busy that the
// budget was not enough; no other sample starts after the budget. Leaves a second to write.
constexpr double LastFigureSeconds(double budget_seconds) { return 2 * budget_seconds; }

// Nothing is written after this: the process ends, even while a kernel runs. Twice the soft
// deadline, and a second for fixed costs: loading libraries, filling memory.
constexpr double HardDeadlineSeconds(double budget_seconds) { return 2 * budget_seconds + 1; }

// Each field is the option of the same name.
struct ProbeOptions {
  std::string backend = "auto";
  std::string device = {};  // a UUID; "": the first
  v1::ProbeMode mode = v1::PROBE_MODE_STANDARD;
  double budget_seconds = 0;  // 0: DefaultBudgetSeconds()
  std::string output = {};    // "" for none
  std::string format = "auto";
  bool list = false;
  std::vector<v1::MatmulShape> matmuls = {};  // without a type: the backend chooses
  std::string onednn_library = {};            // "": where the system has it
  bool hold = true;                           // hold a GPU's stream while short samples are queued
  std::string library_folder = {};            // of CUDA's libraries; "": where the system has them
  int64_t memory_cap_bytes = 0;               // 0: the backend chooses
  int64_t parent_pid = 0;                     // 0 for none
};

// --budget, or the mode's default.
double BudgetSecondsOf(const ProbeOptions& options);

// Output that replaces a measurement: help, or the version.
struct AskedText {
  std::string text;
};

// Reads `args`, the program's name left out.
//
// Errors: kInvalidArgument with a text for people.
absl::StatusOr<std::variant<ProbeOptions, AskedText>> ParseProbeOptions(
    const std::vector<std::string>& args);

// Values from text. Errors of all: kInvalidArgument, saying what to write instead.

// "quick", "standard" or "full".
absl::StatusOr<v1::ProbeMode> ParseProbeMode(absl::string_view text);

// "5", "5s", "500ms", "2m" or "1h", within kMinBudgetSeconds and kMaxBudgetSeconds.
absl::StatusOr<double> ParseBudgetSeconds(absl::string_view text);

// "7d", "36h", "30m" or "90s", above 0 and at most ten years, in seconds.
absl::StatusOr<double> ParseAgeSeconds(absl::string_view text);

// "1073741824", "512MiB" (2^20 each) or "1.5GB" (1e9 each): whole bytes, at least 1 and at
// most 2^53.
absl::StatusOr<int64_t> ParseByteCount(absl::string_view text);

// "fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8" (or "fp8_e4m3"), "mxfp8" or "nvfp4".
absl::StatusOr<v1::DataType> ParseDataType(absl::string_view text);

// "MxNxK" or "MxNxK:TYPE", each of m, n and k a whole number from 1 to 1e6. Without a type the
// shape has DATA_TYPE_UNSPECIFIED.
absl::StatusOr<v1::MatmulShape> ParseMatmulShape(absl::string_view text);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_OPTIONS_H_
