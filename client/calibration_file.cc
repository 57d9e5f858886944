#include "client/calibration_file.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/proto_json.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {
namespace {

absl::Status CannotWrite(const std::string& file, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", file, ": ", std::strerror(error)));
}

// The calibration in `json`, which is an Answer; "" where it is not.
template <typename Answer>
std::string Unwrapped(const std::string& json) {
  Answer answer;
  const bool read = google::protobuf::util::JsonStringToMessage(json, &answer).ok();
  return read && answer.has_calibration() ? ProtoJson(answer.calibration()) : "";
}

// A new file `name` that holds `text`, on the disk itself. Returns 0 or an errno.
int WriteNew(const std::string& name, const std::string& text) {
  std::FILE* file = std::fopen(name.c_str(), "wbxe");
  if (file == nullptr) return errno;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const int error = written ? 0 : errno;
  return std::fclose(file) == 0 || error != 0 ? error : errno;
}

}  // namespace

std::string UnwrapCalibration(std::string json) {
  for (const auto& unwrap :
       {Unwrapped<v1::GetCalibrationResponse>, Unwrapped<v1::RunProbeResponse::Result>}) {
    std::string bare = unwrap(json);
    if (!bare.empty()) return bare;
  }
  return json;
}

absl::Status SaveCalibration(const std::string& file, const v1::Calibration& calibration) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, error);
  if (error) return CannotWrite(file, error.value());
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", file, ": it is no regular file; name another"));
  }
  // Renamed into its place, it is there whole or not at all.
  const std::string whole = absl::StrCat(target.string(), ".", getpid(), ".new");
  if (const int failed = WriteNew(whole, ProtoJson(calibration)); failed != 0) {
    if (failed != EEXIST) std::remove(whole.c_str());
    return CannotWrite(file, failed);
  }
  if (std::rename(whole.c_str(), target.c_str()) == 0) return absl::OkStatus();
  const int failed = errno;
  std::remove(whole.c_str());
  return CannotWrite(file, failed);
}

}  // namespace sextant
