// A launcher's configuration file, TOML or JSON: its settings by their paths, "training.seq_len".
#ifndef SEXTANT_CLIENT_LAUNCHER_CONFIG_FILE_H_
#define SEXTANT_CLIENT_LAUNCHER_CONFIG_FILE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sextant::client {

class ConfigFile {
 public:
  // Errors: kInvalidArgument, saying where the text is none.
  static absl::StatusOr<ConfigFile> FromToml(const std::string& text);
  static absl::StatusOr<ConfigFile> FromJson(const std::string& text);

  // The setting at `path`. Absent where the file lacks it, where it is null or "auto", and where it
  // has another type or a number below `least`, which status() then says. A whole number may be
  // written as 5e8.
  std::optional<int64_t> Count(const std::string& path, int64_t least = 1);
  std::optional<double> Number(const std::string& path);
  std::optional<bool> Switch(const std::string& path);
  std::optional<std::string> Text(const std::string& path);
  std::vector<std::string> Texts(const std::string& path);
  std::optional<std::vector<std::vector<std::string>>> Lists(const std::string& path);

  bool Has(const std::string& path) const { return Find(path) != nullptr; }
  bool IsAuto(const std::string& path) const;

  void Refuse(const std::string& path, const std::string& why);

  // Records that a setting that was read, or its value, stands for nothing that is known.
  void Ignore(const std::string& path) { read_.erase(path); }

  // Settings that were not read, and those that are "auto", in the order of their names.
  std::vector<std::string> ignored() const;
  std::vector<std::string> open() const;

  // INVALID_ARGUMENT naming every wrong setting.
  absl::Status status() const;

 private:
  using Json = nlohmann::json;

  explicit ConfigFile(Json root) : root_(std::move(root)) {}

  // The value at `path`, whatever it is; nullptr where there is none.
  const Json* At(const std::string& path) const;
  // The setting, where it has a value of its own: nullptr where it is absent, null or "auto".
  const Json* Find(const std::string& path) const;
  const Json* Read(const std::string& path);

  Json root_;
  std::set<std::string> read_;
  std::vector<std::string> faults_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_CONFIG_FILE_H_
