#include "server/store/calibration_file.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "proto/calibration_json.h"
#include "proto/check/calibration.h"
#include "server/convert/calibration.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr int kMaxSetAside = 10'000;
constexpr v1::ProbeMode kModes[] = {v1::PROBE_MODE_QUICK, v1::PROBE_MODE_STANDARD,
                                    v1::PROBE_MODE_FULL};
constexpr auto kLeftoverAge = std::chrono::hours(1);
constexpr char kExtension[] = ".json";
constexpr char kTemporaryMark[] = ".tmp-";
constexpr int kTemporaryCharacters = 6;
constexpr char kDistrustExtension[] = ".distrusted";

absl::Status Unavailable(absl::string_view what, const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("can't ", what, " \"", absl::CHexEscape(path), "\": ", std::strerror(error)));
}

// Closes the descriptor in its destructor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  // O_NONBLOCK: a named pipe would wait for its writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0) {
    return absl::UnavailableError(absl::StrCat("can't be read: ", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) return absl::DataLossError("is not a file");
  std::string content(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = read(file.get(), content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::UnavailableError(absl::StrCat("can't be read: ", std::strerror(errno)));
    }
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > kMaxFileBytes) {
    return absl::DataLossError(absl::StrCat("has more than ", kMaxFileBytes, " bytes"));
  }
  content.resize(size);
  return content;
}

// Returns an errno, or 0.
int WriteAndSync(int fd, absl::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

absl::Status MakeFolder(const std::string& folder) {
  for (size_t end = folder.find('/', 1); true; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      return Unavailable("make the folder", part, errno);
    }
    if (end == std::string::npos) return absl::OkStatus();
  }
}

// Makes new, renamed and removed names in `folder` durable, too.
absl::Status SyncFolder(const std::string& folder) {
  const Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0 && fsync(directory.get()) == 0) return absl::OkStatus();
  return Unavailable("write for good to", folder, errno);
}

// A calibration's name, ".tmp-" and six characters.
bool IsTemporaryName(absl::string_view name) {
  const size_t mark = name.rfind(kTemporaryMark);
  return mark != absl::string_view::npos && CalibrationNameFrom(name.substr(0, mark)).has_value() &&
         name.size() == mark + absl::string_view(kTemporaryMark).size() + kTemporaryCharacters;
}

std::string ModeWord(v1::ProbeMode mode) {
  return EnumLabel(v1::ProbeMode_Name(mode), "PROBE_MODE_");
}

// Checks that the name at `path` is that of the calibration's device and mode.
absl::Status CheckName(const std::string& path, const v1::Calibration& calibration) {
  const auto name = CalibrationNameFrom(std::filesystem::path(path).filename().string());
  if (!name.has_value() || name->uuid != calibration.device().uuid()) {
    return absl::DataLossError(absl::StrCat(
        "is of device ", absl::CHexEscape(calibration.device().uuid()), ", which is not its name"));
  }
  if (name->mode != v1::PROBE_MODE_UNSPECIFIED && name->mode != calibration.mode()) {
    return absl::DataLossError(
        absl::StrCat("is of mode ", ModeWord(calibration.mode()), ", which is not its name"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string CalibrationPath(absl::string_view folder, absl::string_view uuid, v1::ProbeMode mode) {
  return absl::StrCat(folder, "/", uuid, ".", ModeWord(mode), kExtension);
}

std::string FormerCalibrationPath(absl::string_view folder, absl::string_view uuid) {
  return absl::StrCat(folder, "/", uuid, kExtension);
}

std::vector<std::string> CalibrationPathsOf(absl::string_view folder, absl::string_view uuid) {
  std::vector<std::string> out = {FormerCalibrationPath(folder, uuid)};
  for (const v1::ProbeMode mode : kModes) out.push_back(CalibrationPath(folder, uuid, mode));
  return out;
}

absl::optional<CalibrationName> CalibrationNameFrom(absl::string_view file_name) {
  if (!absl::ConsumeSuffix(&file_name, kExtension)) return absl::nullopt;
  CalibrationName out;
  for (const v1::ProbeMode mode : kModes) {
    if (absl::ConsumeSuffix(&file_name, absl::StrCat(".", ModeWord(mode)))) {
      out.mode = mode;
      break;
    }
  }
  out.uuid = std::string(file_name);
  if (!check::IsUuid(out.uuid)) return absl::nullopt;
  return out;
}

absl::StatusOr<v1::Calibration> ReadCalibrationFile(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(const std::string content, ReadWhole(path));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // a newer version's
  v1::Calibration calibration;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(WithPresentNames(content), &calibration, options);
  if (!parsed.ok()) {
    return absl::DataLossError(
        absl::StrCat("is not a calibration: ",
                     absl::string_view(parsed.message().data(), parsed.message().size())));
  }
  if (calibration.schema_version() > check::kSchemaVersion) {
    return absl::UnimplementedError(absl::StrCat("has schema version ",
                                                 calibration.schema_version(),
                                                 "; this server reads ", check::kSchemaVersion));
  }
  FieldViolations violations;
  CheckCalibration(calibration, "", violations);
  if (!violations.empty()) return absl::DataLossError(violations.ToStatus().message());
  SEXTANT_RETURN_IF_ERROR(CheckName(path, calibration));
  return calibration;
}

absl::Status WriteCalibrationFile(const std::string& folder, const v1::Calibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(MakeFolder(folder));
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(calibration, &json, options).ok()) {
    return absl::InternalError("the calibration can't be written as JSON");
  }
  const std::string path = CalibrationPath(folder, calibration.device().uuid(), calibration.mode());
  std::string temporary =
      absl::StrCat(path, kTemporaryMark, std::string(kTemporaryCharacters, 'X'));
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return Unavailable("write to the folder", folder, errno);
  int error = WriteAndSync(file.get(), json);
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return Unavailable("write", path, error);
  }
  return SyncFolder(folder);
}

absl::Status RemoveFormerCalibration(const std::string& folder, absl::string_view uuid,
                                     v1::ProbeMode mode) {
  const std::string path = FormerCalibrationPath(folder, uuid);
  const absl::StatusOr<v1::Calibration> former = ReadCalibrationFile(path);
  if (!former.ok() || former->mode() != mode) return absl::OkStatus();
  return unlink(path.c_str()) == 0 ? SyncFolder(folder) : Unavailable("remove", path, errno);
}

std::string DistrustPath(absl::string_view folder, absl::string_view uuid) {
  return absl::StrCat(folder, "/", uuid, kDistrustExtension);
}

absl::Status MarkDistrusted(const std::string& folder, absl::string_view uuid) {
  SEXTANT_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string path = DistrustPath(folder, uuid);
  const Descriptor mark(open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (mark.get() < 0) return Unavailable("write", path, errno);
  return SyncFolder(folder);
}

absl::Status UnmarkDistrusted(const std::string& folder, absl::string_view uuid) {
  const std::string path = DistrustPath(folder, uuid);
  if (unlink(path.c_str()) == 0) return SyncFolder(folder);
  return errno == ENOENT ? absl::OkStatus() : Unavailable("remove", path, errno);
}

absl::StatusOr<std::string> SetFileAside(const std::string& path, absl::string_view word) {
  for (int i = 1; i <= kMaxSetAside; ++i) {
    std::string aside = absl::StrCat(path, ".", word, "-", i);
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0) {
      return aside;
    }
    if (errno != EEXIST) return Unavailable("rename", path, errno);
  }
  return Unavailable("rename", path, EEXIST);
}

void RemoveLeftovers(const std::string& folder) {
  std::error_code error;
  const auto oldest = std::filesystem::file_time_type::clock::now() - kLeftoverAge;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    const auto written = entry->last_write_time(unknown);
    if (IsTemporaryName(entry->path().filename().string()) && !unknown && written < oldest) {
      unlink(entry->path().c_str());
    }
  }
}

}  // namespace sextant::server
