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

// The file that `path` names, made where there is none. Reading suffices to lock it. Links are not
// followed, and a pipe does not block.
int Open(const std::string& path) {
  constexpr mode_t kMode = 0600;
  return open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kMode);
}

// Returns why the file can't be a lock of this user alone; empty: it can.
std::string Fault(int file_descriptor) {
  struct stat found = {};
  if (fstat(file_descriptor, &found) != 0) return strerror(errno);
  if (!S_ISREG(found.st_mode)) return "not a regular file";
  if (found.st_uid != geteuid()) return "another user's file";
  // On a file system without modes the lock works anyway.
  (void)fchmod(file_descriptor, S_IRUSR | S_IWUSR);
  return "";
}

}  // namespace

std::string LockFolder() {
  const char* const chosen = std::getenv("SEXTANT_LOCK_FOLDER");
  if (chosen != nullptr && chosen[0] == '/') return chosen;
  // access() detects read-only file systems.
  constexpr char kRunLock[] = "/run/lock";
  std::string folder =
      absl::StrCat(access(kRunLock, W_OK) == 0 ? kRunLock : "/tmp", "/sextant-probe-", geteuid());
  (void)mkdir(folder.c_str(), S_IRWXU);  // Take() says where it can't be used
  return folder;
}

absl::StatusOr<DeviceLock> DeviceLock::Take(const std::string& folder, absl::string_view uuid) {
  const std::string path = PathOf(folder, uuid);
  const auto unlocked = [&path](absl::string_view why) {
    return DeviceLock(
        -1, absl::StrCat("Measured without a lock against other probes: ", path, ": ", why, "."));
  };
  const int file_descriptor = Open(path);
  if (file_descriptor < 0) return unlocked(strerror(errno));
  if (const std::string fault = Fault(file_descriptor); !fault.empty()) {
    close(file_descriptor);
    return unlocked(fault);
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
