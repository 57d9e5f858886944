// Settings of a program that extends TrainingArguments, under the names that those have.
#ifndef SEXTANT_SERVER_LAUNCHER_TRANSLATION_H_
#define SEXTANT_SERVER_LAUNCHER_TRANSLATION_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/fine_tuning.h"
#include "server/launcher/setting.h"

namespace sextant::server {

class Translation {
 public:
  using Json = nlohmann::json;

  // `table`: the program's own settings.
  Translation(Json document, absl::Span<const Setting> table);

  // The setting of the program, which is then read; null without it.
  Json Take(const std::string& name);
  // Its text; `absent` without it, and where it is none.
  std::string TakeText(const std::string& name, const std::string& absent = "");
  bool TakeSwitch(const std::string& name, bool absent);
  // Reads a setting that changes nothing here.
  void Pass(const std::string& name);
  // Leaves a setting that is not modelled; `lowers`: it may lower memory.
  void Ignore(const std::string& name, bool lowers);

  // A file that has to be given too.
  void Want(const std::string& file) { out_.wants.push_back(file); }

  // Sets one of TrainingArguments.
  void Set(const std::string& name, Json value) { arguments_[name] = std::move(value); }
  bool Has(const std::string& name) const { return arguments_.contains(name); }
  bool IsOn(const std::string& name) const { return Has(name) && arguments_[name] == true; }
  // The setting `name` under the name `argument`; without it `absent`, unless that is null.
  void Rename(const std::string& name, const std::string& argument, Json absent = nullptr);

  // DeepSpeed's configuration at `name`: one of `presets`, one inside the file, or a file.
  void TakeDeepspeed(const std::string& name, absl::Span<const DeepspeedPreset> presets);

  // Liger's kernels at `name`, off by default: logits chunk by chunk, and less in other layers.
  void TakeLiger(const std::string& name);

  // Reads all, TrainingArguments by `read`. Errors: its, by the program's names.
  using ReadArguments = absl::FunctionRef<absl::StatusOr<LauncherRead>(Json arguments)>;
  absl::StatusOr<LauncherRead> Read(ReadArguments read);

 private:
  // The program's name of one of TrainingArguments.
  std::string NameOf(const std::string& argument) const;

  absl::Span<const Setting> table_;
  Json own_ = Json::object();        // settings of the table
  Json arguments_ = Json::object();  // TrainingArguments
  std::map<std::string, std::string> names_;
  std::string liger_;  // the setting, where it is on
  LauncherRead out_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_TRANSLATION_H_
