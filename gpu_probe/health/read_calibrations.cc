#include "gpu_probe/health/read_calibrations.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/health/findings.h"
#include "proto/calibration_json.h"
#include "proto/check/calibration.h"
#include "proto/matmul_kind.h"

namespace sextant::probe {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr int64_t kClockSkewSeconds = 300;
// Rates are computed from the times next to them; JSON keeps all their digits.
constexpr double kRateTolerance = 1e-3;
constexpr char kWithdrawnExtension[] = ".distrusted";  // as the server marks a wrong result

absl::Status SystemError() { return absl::UnavailableError(std::strerror(errno)); }

// Reads all of an open file; otherwise the first error.
absl::StatusOr<std::string> ReadOpen(int descriptor) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) return SystemError();
  if (!S_ISREG(info.st_mode)) return absl::DataLossError("it is not a file");
  std::string content(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = read(descriptor, content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError();
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > kMaxFileBytes) {
    return absl::DataLossError(absl::StrCat("it has more than ", kMaxFileBytes, " bytes"));
  }
  content.resize(size);
  return content;
}

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  // O_NONBLOCK: a named pipe would wait for its writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError();
  absl::StatusOr<std::string> content = ReadOpen(descriptor);
  close(descriptor);
  return content;
}

absl::StatusOr<v1::Calibration> ReadFile(const std::string& path, int64_t now_unix_seconds) {
  SEXTANT_ASSIGN_OR_RETURN(const std::string content, ReadWhole(path));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // a newer version's
  v1::Calibration calibration;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(WithPresentNames(content), &calibration, options);
  if (!parsed.ok()) {
    return absl::DataLossError(
        absl::StrCat("it is not a calibration in JSON: ",
                     absl::string_view(parsed.message().data(), parsed.message().size())));
  }
  SEXTANT_RETURN_IF_ERROR(ValidateCalibration(calibration, now_unix_seconds));
  return calibration;
}

class Reader {
 public:
  explicit Reader(const ReadOptions& options) : options_(options) {}

  void ReadPath(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      ReadFolder(path);
    } else {
      ReadOne(path);
    }
  }

  ReadResult Take() { return std::move(result_); }

 private:
  void Problem(const std::string& source, absl::string_view reason) {
    result_.problems.push_back({.source = source, .reason = std::string(reason)});
  }

  void ReadOne(const std::string& path) {
    absl::StatusOr<v1::Calibration> calibration = ReadFile(path, options_.now_unix_seconds);
    if (!calibration.ok()) return Problem(path, calibration.status().message());
    MeasuredDevice measured = MeasuredFrom(*std::move(calibration), options_.limit_tolerance);
    if (!measured.figures.empty()) {
      result_.measured.push_back(std::move(measured));
    } else if (!MatmulsWhere(measured.calibration, IsRequested).empty()) {
      result_.notes.push_back(
          absl::StrCat(path, " has only shapes that were asked for: left out."));
    } else {
      Problem(path, "it has no rate to judge");
    }
  }

  void ReadFolder(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::filesystem::path& path = entry->path();
      if (path.extension() == kWithdrawnExtension) NoteWithdrawn(path);
      if (path.extension() == ".json") paths.push_back(path);
    }
    if (error) return Problem(folder, absl::StrCat("it can't be read: ", error.message()));
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) ReadOne(path);
    if (paths.empty() && !options_.may_be_empty) {
      Problem(folder, "there is no calibration (*.json) in it");
    }
  }

  void NoteWithdrawn(const std::filesystem::path& mark) {
    const std::string uuid = mark.stem();
    if (!options_.only_uuid.empty() && options_.only_uuid != uuid) return;
    result_.problems.push_back(
        {.status = HealthStatus::kCritical,
         .source = mark,
         .reason = absl::StrCat("the last probe of ", uuid,
                                " had a wrong result, and its calibration was withdrawn")});
  }

  const ReadOptions& options_;
  ReadResult result_;
};

}  // namespace

absl::Status ValidateCalibration(const v1::Calibration& calibration, int64_t now_unix_seconds) {
  std::string first;
  check::CheckCalibration(calibration, "",
                          {.rate_tolerance = kRateTolerance,
                           .most_faults = 1,
                           .reader = "this sextant-probe",
                           .program = "sextant-probe"},
                          [&](const std::string& field, absl::string_view fault) {
                            if (first.empty()) first = absl::StrCat(field, " ", fault);
                          });
  if (!first.empty()) return absl::DataLossError(first);
  const int64_t ahead_seconds = calibration.measured_time().seconds() - now_unix_seconds;
  if (ahead_seconds > kClockSkewSeconds) {
    return absl::DataLossError(absl::StrCat("it is from the future, by ", ahead_seconds,
                                            " s: set this host's clock, or that one's"));
  }
  return absl::OkStatus();
}

ReadResult ReadCalibrations(const std::vector<std::string>& paths, const ReadOptions& options) {
  Reader reader(options);
  for (const std::string& path : paths) reader.ReadPath(path);
  return reader.Take();
}

MeasuredDevice MeasuredFrom(v1::Calibration calibration, double limit_tolerance) {
  MeasuredDevice measured = {.calibration = std::move(calibration), .figures = {}};
  measured.figures = FiguresOf(measured.calibration);
  measured.beyond_limit = !FindBeyondLimit(measured.calibration, limit_tolerance).empty();
  return measured;
}

}  // namespace sextant::probe
