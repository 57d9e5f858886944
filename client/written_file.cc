#include "client/written_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

absl::Status CannotWrite(const std::string& file, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", file, ": ", std::strerror(error)));
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

absl::Status WriteText(const std::string& file, const std::string& text) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, error);
  if (error) return CannotWrite(file, error.value());
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", file, ": it is no regular file; name another"));
  }
  // Renamed into its place, it is there whole or not at all.
  const std::string whole = absl::StrCat(target.string(), ".", getpid(), ".new");
  if (const int failed = WriteNew(whole, text); failed != 0) {
    if (failed != EEXIST) std::remove(whole.c_str());
    return CannotWrite(file, failed);
  }
  if (std::rename(whole.c_str(), target.c_str()) == 0) return absl::OkStatus();
  const int failed = errno;
  std::remove(whole.c_str());
  return CannotWrite(file, failed);
}

}  // namespace sextant
