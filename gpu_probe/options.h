// The probe's command line.
#ifndef SEXTANT_GPU_PROBE_OPTIONS_H_
#define SEXTANT_GPU_PROBE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

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
  bool hold = true;                 // whether a GPU's stream is held while short samples are queued
  std::string library_folder = {};  // of CUDA's libraries; "": where the system has them
  int64_t memory_cap_bytes = 0;     // 0: the backend chooses
  int64_t parent_pid = 0;           // 0 for none
};

// Text that was asked for in place of a measurement: help, or the version.
struct AskedText {
  std::string text;
};

// Reads `args`, the program's name left out.
//
// Errors: kInvalidArgument with a text for people.
absl::StatusOr<std::variant<ProbeOptions, AskedText>> ParseProbeOptions(
    const std::vector<std::string>& args);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_OPTIONS_H_
