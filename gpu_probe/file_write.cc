#include "gpu_probe/file_write.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

constexpr mode_t kFileMode = 0644;

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  const int error = errno;
  return absl::InternalError(absl::StrCat(what, " ", path, ": ", strerror(error)));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file `path`, or the one that it links to; `path` itself where nothing is there.
//
// Errors: kInvalidArgument where that is not a file to replace.
absl::StatusOr<std::string> TargetOf(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0 && errno == ENOENT) return path;
  if (stat(path.c_str(), &found) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot follow ", path, ": ", strerror(errno)));
  }
  // Replacing would permanently put a file in the place of a device or a pipe.
  if (!S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a regular file; give the name of one, or of a new one"));
  }
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot follow ", path, ": ", error.message()));
  }
  return target.string();
}

bool IsStandardOutput(const std::string& path) {
  struct stat file = {};
  struct stat output = {};
  return stat(path.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
         file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

// Writes, syncs and renames the new file.
absl::Status Complete(int file_descriptor, const std::string& new_path, const std::string& path,
                      absl::string_view bytes) {
  if (fchmod(file_descriptor, kFileMode) != 0) return SystemError("cannot set the mode of", path);
  SEXTANT_RETURN_IF_ERROR(WriteAll(file_descriptor, bytes));
  // The data must be on disk before the name: a crash could leave the name on an empty file.
  if (fsync(file_descriptor) != 0) return SystemError("cannot write", new_path);
  if (rename(new_path.c_str(), path.c_str()) != 0) return SystemError("cannot replace", path);
  return absl::OkStatus();
}

// Makes the new name survive a crash of the system. The file is whole in either case.
void SettleFolder(const std::string& folder) {
  const int file_descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file_descriptor < 0) return;
  fsync(file_descriptor);
  close(file_descriptor);
}

}  // namespace

absl::Status WriteAll(int file_descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Another process that shares the descriptor made it non-blocking.
      pollfd writable = {.fd = file_descriptor, .events = POLLOUT, .revents = 0};
      poll(&writable, 1, /*timeout=*/-1);
    } else if (errno == EPIPE) {
      return absl::CancelledError("nobody reads the output any more");
    } else if (errno != EINTR) {
      return SystemError("cannot write", "the output");
    }
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, absl::string_view bytes) {
  const absl::StatusOr<std::string> target = TargetOf(path);
  if (!target.ok()) return absl::InternalError(target.status().message());
  std::string new_path = absl::StrCat(*target, ".XXXXXX");
  const int file_descriptor = mkostemp(new_path.data(), O_CLOEXEC);
  if (file_descriptor < 0) return SystemError("cannot create", new_path);
  const absl::Status completed = Complete(file_descriptor, new_path, *target, bytes);
  close(file_descriptor);
  if (!completed.ok()) {
    unlink(new_path.c_str());
    return completed;
  }
  SettleFolder(FolderOf(*target));
  return absl::OkStatus();
}

absl::Status CheckReplaceable(const std::string& path) {
  if (path.empty() || path.back() == '/') {
    return absl::InvalidArgumentError(absl::StrCat("\"", path, "\" is not the name of a file"));
  }
  SEXTANT_ASSIGN_OR_RETURN(const std::string target, TargetOf(path));
  if (IsStandardOutput(target)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is where standard output goes: its lines would be lost with the former file"));
  }
  const std::string folder = FolderOf(target);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write in ", folder, ": ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace sextant::probe
