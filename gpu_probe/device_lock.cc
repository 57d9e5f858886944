#include "gpu_probe/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

// A uuid becomes part of a file's name: what could leave the folder becomes '_'.
std::string PathOf(const std::string& folder, absl::string_view uuid) {
  std::string name(uuid.substr(0, 100));
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  }
  return absl::StrCat(folder, "/sextant-probe-", name, ".lock");
}

// Opens the file, which the first user creates. Nobody writes to it: reading suffices to lock it,
// and all users may read. Links are not followed, and a pipe does not block.
int Open(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  constexpr mode_t kMode = 0666;
  // Not in one call: with O_CREAT the system may refuse to open another user's file in a folder
  // that all may write (fs.protected_regular).
  int file_descriptor = open(path.c_str(), kFlags);
  if (file_descriptor < 0 && errno == ENOENT) {
    file_descriptor = open(path.c_str(), kFlags | O_CREAT | O_EXCL, kMode);
    if (file_descriptor >= 0) {
      // The umask of the first user must not keep others from reading it. On a file system without
      // modes the lock works anyway.
      (void)fchmod(file_descriptor, kMode);
    } else if (errno == EEXIST) {
      file_descriptor = open(path.c_str(), kFlags);
    }
  }
  return file_descriptor;
}

bool IsRegular(int file_descriptor) {
  struct stat found = {};
  return fstat(file_descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

std::string LockFolder() {
  const char* const chosen = std::getenv("SEXTANT_LOCK_FOLDER");
  if (chosen != nullptr && chosen[0] == '/') return chosen;
  // Checks the mode, which is the same for all users; access() detects read-only file systems.
  constexpr char kRunLock[] = "/run/lock";
  struct stat found = {};
  const bool for_all = stat(kRunLock, &found) == 0 && S_ISDIR(found.st_mode) &&
                       (found.st_mode & S_IWOTH) != 0 && access(kRunLock, W_OK) == 0;
  return for_all ? kRunLock : "/tmp";
}

absl::StatusOr<DeviceLock> DeviceLock::Take(const std::string& folder, absl::string_view uuid) {
  const std::string path = PathOf(folder, uuid);
  const auto unlocked = [&path](absl::string_view why) {
    return DeviceLock(
        -1, absl::StrCat("Measured without a lock against other probes: ", path, ": ", why, "."));
  };
  const int file_descriptor = Open(path);
  if (file_descriptor < 0) return unlocked(strerror(errno));
  if (!IsRegular(file_descriptor)) {
    close(file_descriptor);
    return unlocked("not a regular file");
  }
  if (flock(file_descriptor, LOCK_EX | LOCK_NB) == 0) return DeviceLock(file_descriptor, "");
  const int error = errno;
  close(file_descriptor);
  if (error != EWOULDBLOCK) return unlocked(strerror(error));
  return absl::AbortedError(absl::StrCat("another sextant-probe is measuring ", uuid, " (it holds ",
                                         path, "): wait until it ends"));
}

DeviceLock::DeviceLock(int file_descriptor, std::string note)
    : file_descriptor_(file_descriptor), note_(std::move(note)) {}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept
    : file_descriptor_(std::exchange(other.file_descriptor_, -1)), note_(std::move(other.note_)) {}

DeviceLock::~DeviceLock() {
  if (file_descriptor_ >= 0) close(file_descriptor_);
}

}  // namespace sextant::probe
