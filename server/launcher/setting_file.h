// A launcher's file, read and written as TOML, JSON, YAML or arguments: its settings by their
// names,
// "--seq-length" or "training.seq_len".
#ifndef SEXTANT_SERVER_LAUNCHER_SETTING_FILE_H_
#define SEXTANT_SERVER_LAUNCHER_SETTING_FILE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant::server {

// How many values an argument takes.
enum class SettingValues { kNone, kOne, kSome };

// A word of a choice, "p2p=ring", and what stands for it. See Setting::words.
struct SettingWord {
  absl::string_view name;
  absl::string_view value;
  bool written = true;
  bool named = true;  // by errors
};
std::vector<SettingWord> WordsOf(absl::string_view words);

class SettingFile {
 public:
  // Errors: kInvalidArgument, saying where the text is none.
  static absl::StatusOr<SettingFile> FromToml(const std::string& text);
  static absl::StatusOr<SettingFile> FromJson(const std::string& text);
  // The settings of an object that was read before.
  static SettingFile FromDocument(nlohmann::json document) {
    return SettingFile(std::move(document));
  }
  // Splits the text as a shell does, quotes included, and parses it as argparse does: the last
  // value counts. `known` are the names that are read; others are ignored.
  // A name of another release is read as that of `older` in its place, "--fp8-e4m3" as
  // "--fp8-format=e4m3"; "_" is read as "-".
  using Names = std::vector<std::pair<std::string, SettingValues>>;
  using OlderNames = absl::Span<const std::pair<const char*, const char*>>;
  static absl::StatusOr<SettingFile> FromArguments(const std::string& text, const Names& known,
                                                   OlderNames older = {});
  // The same of words that a shell has split.
  static absl::StatusOr<SettingFile> FromWords(std::vector<std::string> words, const Names& known,
                                               OlderNames older = {});

  // Arguments that another file gives under names of its own: `values` as FromArguments() has them,
  // by argument, and in `names` what errors and lists call them.
  static SettingFile FromNamedArguments(nlohmann::json values,
                                        std::map<std::string, std::string> names);

  // The setting at `path`. Absent where the file lacks it, where it is null or "auto", and where it
  // has another type or a number below `least`, which status() then says. A whole number may be
  // written as 5e8.
  std::optional<int64_t> Count(const std::string& path, int64_t least = 1);
  std::optional<double> Number(const std::string& path);
  std::optional<std::string> Text(const std::string& path);
  std::vector<std::string> Texts(const std::string& path);
  using TextLists = std::vector<std::vector<std::string>>;
  std::optional<TextLists> Lists(const std::string& path);

  // The value of the setting's word among `words`; `absent` without the setting. ""
  // where its word is none of them, which status() then says.
  std::string Choose(const std::string& path, absl::string_view words,
                     absl::string_view absent = "");

  // True for an argument that is there, and a switch that is on.
  bool IsOn(const std::string& path);

  // Empty of arguments.
  const nlohmann::json& document() const { return root_; }

  bool Has(const std::string& path) const { return Find(path) != nullptr; }
  bool IsAuto(const std::string& path) const;
  bool HoldsText(const std::string& path) const;

  void Refuse(const std::string& path, const std::string& why);

  // Records that a setting that was read, or its value, stands for nothing that is known.
  void Ignore(const std::string& path);

  // Settings that were read, in the order of their names.
  std::vector<std::string> read() const;
  // Records that the setting was read where its value is off: false, 0, "", "none", "no", "false",
  // or an empty list or object. True if so; of documents alone.
  bool PassIfOff(const std::string& path);
  // Records that the setting was read, whatever its value.
  void TakeAny(const std::string& path) { read_.insert(path); }

  // Settings that were not read, and those that are "auto", in the order of their names. Of
  // arguments those that are not known, and then those of Ignore().
  std::vector<std::string> ignored() const;
  std::vector<std::string> open() const;

  // INVALID_ARGUMENT naming every wrong setting.
  absl::Status status() const;

 private:
  using Json = nlohmann::json;

  // Parses by `parse`, a function of a CLI::App.
  template <typename Parse>
  static absl::StatusOr<SettingFile> ParseArguments(const Names& known, const Parse& parse);

  explicit SettingFile(Json root, bool arguments = false)
      : root_(std::move(root)), arguments_(arguments) {}

  // The value at `path`, whatever it is; nullptr where there is none.
  const Json* At(const std::string& path) const;
  // The setting, where it has a value of its own: nullptr where it is absent, null or "auto".
  const Json* Find(const std::string& path) const;
  const Json* Read(const std::string& path);
  // The setting as a Value; refused, saying what to write, where it is none.
  template <typename Value>
  std::optional<Value> Take(const std::string& path, const char* what);

  // An argument as errors and lists call it.
  std::string NameOf(const std::string& path) const;

  Json root_;  // of arguments: true, a text, or a list of texts
  bool arguments_;
  std::set<std::string> read_;
  std::vector<std::string> ignored_;  // of arguments
  std::map<std::string, std::string> names_;
  std::vector<std::string> faults_;
};

// Settings to write, in order, and the three forms of files that launchers take.
class SettingList {
 public:
  using Value = nlohmann::ordered_json;

  void Add(const std::string& name, Value value) { all_.emplace_back(name, std::move(value)); }
  bool empty() const { return all_.empty(); }
  const std::vector<std::pair<std::string, Value>>& all() const { return all_; }

  // "--num-layers 32" each; one that is true is its name alone.
  std::vector<std::string> Arguments() const;
  // A section for the part of a name before its last dot. JSON's texts and lists are TOML's.
  std::string Toml() const;
  // The same as YAML, in blocks.
  std::string Yaml() const;
  // An object for each part of a name before a dot.
  std::string Json() const;

 private:
  // All as one object.
  Value Tree() const;

  std::vector<std::pair<std::string, Value>> all_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SETTING_FILE_H_
