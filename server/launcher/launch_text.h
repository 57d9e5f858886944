// A text that a run is read from: its language, and its settings where it has them by name.
#ifndef SEXTANT_SERVER_LAUNCHER_LAUNCH_TEXT_H_
#define SEXTANT_SERVER_LAUNCHER_LAUNCH_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {

enum class Language { kJson, kYaml, kToml, kPython, kShell };

struct LaunchText {
  std::string name = {};  // as its user calls it; "" for none. It says nothing about the content
  std::string text = {};
  Language language = Language::kShell;
  // JSON, YAML and TOML: its documents, each an object; of other languages none.
  std::vector<nlohmann::json> documents = {};

  // The value at "trainer.num_nodes" of the first document; nullptr where there is none.
  const nlohmann::json* Find(absl::string_view path) const;
  bool Has(absl::string_view path) const { return Find(path) != nullptr; }
  bool HasAll(std::initializer_list<const char*> paths) const;
  bool HasAny(std::initializer_list<const char*> paths) const;
  // How many of the paths there are: files of two programs share a few.
  int CountOf(std::initializer_list<const char*> paths) const;

  // The first document, an empty one where there is none; and its settings.
  const nlohmann::json& Document() const;
  SettingFile Settings() const { return SettingFile::FromDocument(Document()); }
};

// The longest text that is read.
inline constexpr size_t kMaxLaunchTextBytes = size_t{256} * 1024;

// Finds the text's language by its content, and parses it.
//
// Errors: kInvalidArgument, saying where the text is wrong in its language; where it is empty, too
// long, or no text.
absl::StatusOr<LaunchText> ParseLaunchText(const std::string& name, const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_LAUNCH_TEXT_H_
