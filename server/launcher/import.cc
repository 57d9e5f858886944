#include "server/launcher/import.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "engine/base/field_violation.h"
#include "engine/base/text.h"
#include "proto/words/launchers.h"
#include "server/launcher/file_format.h"
#include "server/launcher/launch_text.h"
#include "server/launcher/run_union.h"

namespace sextant::server {
namespace {

constexpr int kMaxFiles = 16;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxFaultBytes = 700;  // 16 of them are sent in 4 KiB, the last ones counted

std::string NameOf(const v1::LaunchFile& file, int place) {
  return file.name().empty() ? absl::StrCat("file ", place + 1) : file.name();
}

// "is no JSON: ..." of "no JSON: ...", to follow the name of a field.
std::string AsPredicate(absl::string_view message) {
  if (absl::ConsumePrefix(&message, "it ")) return std::string(message);
  return absl::StrCat("is ", message);
}

// Reads by the format. A value of a type that a reader does not expect is an error of the file, not
// of the server: nlohmann's library says so by an exception.
absl::StatusOr<LauncherRead> ReadBy(const FileFormat& format, const LaunchText& text,
                                    bool with_model) {
  try {
    return format.read(text, with_model);
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(
        "a setting has a value of another type than its program takes: correct it");
  }
}

// Reads one; the status says what is wrong with its content.
absl::StatusOr<UnionFile> ReadLaunchFile(const v1::LaunchFile& file, int place, bool with_model) {
  absl::StatusOr<LaunchText> text = ParseLaunchText(file.name(), file.content());
  if (!text.ok()) return absl::InvalidArgumentError(AsPredicate(text.status().message()));
  const FileFormat* const format =
      file.format().empty() ? FormatOf(*text) : FormatNamed(file.format());
  if (format == nullptr) return absl::InvalidArgumentError(UnknownKind(*text));
  if (format->read == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", words::WithArticle(format->name), ": not read; ", format->instead));
  }
  absl::StatusOr<LauncherRead> read = ReadBy(*format, *text, with_model);
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", words::WithArticle(format->name), ": ", read.status().message()));
  }
  return UnionFile{.name = NameOf(file, place), .format = format, .read = *std::move(read)};
}

void ImportedTo(const UnionFile& file, v1::ImportedFile* out) {
  const LauncherRead& read = file.read;
  out->set_name(file.name);
  out->set_format(file.format->name);
  *out->mutable_read() = {read.read.begin(), read.read.end()};
  *out->mutable_open() = {read.open.begin(), read.open.end()};
  *out->mutable_without_meaning() = {read.passed.begin(), read.passed.end()};
  *out->mutable_not_understood() = {read.ignored.begin(), read.ignored.end()};
  for (const LoweringSetting& setting : read.lowering) out->add_lowering(setting.text);
  *out->mutable_raising() = {read.raising.begin(), read.raising.end()};
  *out->mutable_time_alone() = {read.time_alone.begin(), read.time_alone.end()};
  *out->mutable_wants() = {read.wants.begin(), read.wants.end()};
}

}  // namespace

absl::Status ImportRun(const v1::ImportRunRequest& request, v1::ImportRunResponse* response) {
  if (request.files().empty()) return InvalidField("files", "is required: give 1 to 16 files");
  if (request.files_size() > kMaxFiles) {
    return InvalidField("files",
                        absl::StrCat("are ", request.files_size(), ": give at most ", kMaxFiles));
  }
  FieldViolations violations;
  std::vector<UnionFile> files;
  const bool with_model = !GivesModel(request.request().model());
  for (int i = 0; i < request.files_size(); ++i) {
    const std::string path = absl::StrCat("files[", i, "]");
    if (request.files(i).name().size() > kMaxNameBytes) {
      violations.Add(path + ".name", absl::StrCat("must have at most ", kMaxNameBytes, " bytes"));
      continue;
    }
    if (!request.files(i).format().empty() && FormatNamed(request.files(i).format()) == nullptr) {
      violations.Add(path + ".format", "is not known: leave it out, or write " + KnownFormats());
      continue;
    }
    absl::StatusOr<UnionFile> read = ReadLaunchFile(request.files(i), i, with_model);
    if (read.ok()) {
      files.push_back(*std::move(read));
    } else {
      violations.Add(path + ".content", Clip(read.status().message(), kMaxFaultBytes));
    }
  }
  if (!violations.empty()) return violations.ToStatus();
  RunUnion all = UnionOf(std::move(files), request.request());
  *response->mutable_request() = std::move(all.request);
  for (const UnionFile& file : all.files) ImportedTo(file, response->add_files());
  *response->mutable_notes() = {all.notes.begin(), all.notes.end()};
  return absl::OkStatus();
}

}  // namespace sextant::server
