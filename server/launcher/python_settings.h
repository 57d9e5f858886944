// The settings that a Python configuration gives by literals, found without running it.
#ifndef SEXTANT_SERVER_LAUNCHER_PYTHON_SETTINGS_H_
#define SEXTANT_SERVER_LAUNCHER_PYTHON_SETTINGS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::server {

// The settings of one function.
struct PythonSettings {
  std::string function = {};  // "" for the statements outside of functions
  nlohmann::json values = {};
};

// Keys of a call's object in addition to its keyword arguments: what it calls, "Trainer.Config",
// and its other arguments.
inline constexpr char kPythonCallee[] = "()";
inline constexpr char kPythonArguments[] = "[]";

// Reads every function that returns settings, and the statements outside of functions. Read are
// assignments such as `cfg.train.micro_batch_size = 2`, keyword arguments, constants, products and
// sums of numbers, lists and dicts of all these, and calls of functions above in the same text. A
// dotted name that nothing assigns is its text, "torch.bfloat16". Any other value is "auto", which
// means open. So is whatever an `if` or a loop assigns.
//
// Errors: kInvalidArgument, saying the line: a text or a bracket without an end, or nested more
// than 32 deep.
absl::StatusOr<std::vector<PythonSettings>> ReadPythonSettings(const std::string& text);

// Those of the only function that has any; of several that of the function that `name` ends in,
// "recipes.py:llama3_8b". Errors: as above, and kInvalidArgument, naming the functions.
absl::StatusOr<PythonSettings> ChosenPythonSettings(const std::string& name,
                                                    const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_PYTHON_SETTINGS_H_
