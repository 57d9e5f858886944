// Settings of NVIDIA's programs on Megatron-Core as arguments of Megatron-LM.
#ifndef SEXTANT_SERVER_LAUNCHER_NEMO_ARGUMENTS_H_
#define SEXTANT_SERVER_LAUNCHER_NEMO_ARGUMENTS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/launcher/launched_run.h"

namespace sextant::server {

// The arguments that a configuration becomes.
struct NemoArguments {
  nlohmann::json values = nlohmann::json::object();
  std::map<std::string, std::string> names = {};  // the setting of each argument
  std::vector<std::string> ignored = {};          // as of LauncherRead
  std::vector<std::string> passed = {};
  std::vector<std::string> open = {};

  void Put(const std::string& argument, const std::string& setting, nlohmann::json value = "") {
    values[argument] = std::move(value);
    names[argument] = setting;
  }
  // Puts an argument without a value, unless the configuration has it.
  void PutDefault(const std::string& argument) {
    if (!values.contains(argument)) values[argument] = "";
  }
};

// True of a key that changes nothing that is planned, in nemo_passed.cc.
bool IsNemoPassed(absl::string_view key);

// Takes the settings of a section of `root`, "trainer.strategy", but those `elsewhere`, which are
// read by hand or as sections of their own.
void TakeSection(const nlohmann::json& root, const std::string& section,
                 const std::set<std::string>& elsewhere, NemoArguments& out);

// Takes a recipe of mixed precision: its name, its settings, or both, null for bf16's.
void TakePrecision(const std::string& setting, const nlohmann::json& recipe, NemoArguments& out);

// The setting that an argument without a value, or with one, is written as.
struct NemoSetting {
  std::string key;
  bool is_on = true;  // false: "--disable-bias-linear" is add_bias_linear, off
};
NemoSetting NemoSettingOf(const std::string& argument);

// Reads the arguments. Where `with_model` is false the model's shape is passed over.
absl::StatusOr<LauncherRead> ReadNemoArguments(NemoArguments arguments, bool with_model);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_NEMO_ARGUMENTS_H_
