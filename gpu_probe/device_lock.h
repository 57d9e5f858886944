// One probe at a time: two would measure each other.
#ifndef SEXTANT_GPU_PROBE_DEVICE_LOCK_H_
#define SEXTANT_GPU_PROBE_DEVICE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::probe {

// The folder of this user's lock files, in /run/lock where that can be written, else in /tmp; made
// where it is missing. $SEXTANT_LOCK_FOLDER instead where it is an absolute path.
//
// It is a user's own: who can open a file can hold its lock, and a lock that all may open lets any
// local user keep the host from being measured. Between users the guard decides, which sees who
// uses a GPU. The environment has no part in the choice: a service and a shell of one user share
// locks.
std::string LockFolder();

// Holds the lock of one device while it lives; the end of a process, a killed one too, frees it.
// The file stays: removing it would let two probes in.
class DeviceLock {
 public:
  // Locks device `uuid` by a file in `folder`. Where there can be no lock, e.g. in a folder
  // that can't be written, the measurement goes on without one, and note() says so.
  //
  // Errors: kAborted where another process holds it.
  static absl::StatusOr<DeviceLock> Take(const std::string& folder, absl::string_view uuid);

  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&&) = delete;
  ~DeviceLock();

  // Why there is no lock; "" where there is one.
  const std::string& note() const { return note_; }

 private:
  DeviceLock(int file_descriptor, std::string note);

  int file_descriptor_;  // -1 where there is no lock
  std::string note_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_DEVICE_LOCK_H_
