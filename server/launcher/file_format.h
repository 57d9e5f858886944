// The kinds of files that a run is read from: one table.
#ifndef SEXTANT_SERVER_LAUNCHER_FILE_FORMAT_H_
#define SEXTANT_SERVER_LAUNCHER_FILE_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/launcher/launch_text.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// A kind of file. The first row that recognises a text reads it.
struct FileFormat {
  const char* name;  // "axolotl configuration": as a sentence has it after "a"
  bool (*recognises)(const LaunchText& text);
  // Reads it; where `with_model` is false its model is passed over. nullptr: it is recognised so
  // that `instead` can say what to do.
  absl::StatusOr<LauncherRead> (*read)(const LaunchText& text, bool with_model) = nullptr;
  // Its rows, for the table of formats in docs/launchers.md.
  absl::Span<const Setting> (*settings)() = nullptr;
  const char* instead = "";
};

absl::Span<const FileFormat> FileFormats();

// The format of a text; nullptr where none recognises it.
const FileFormat* FormatOf(const LaunchText& text);

// The format of that name, which can be read; nullptr where there is none.
const FileFormat* FormatNamed(const std::string& name);

// Those that can be read: "an axolotl configuration, a torchtitan configuration".
std::string KnownFormats();

// Why a text that no format recognises is not read: "is a YAML file of no kind that is known: ...".
std::string UnknownKind(const LaunchText& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_FILE_FORMAT_H_
