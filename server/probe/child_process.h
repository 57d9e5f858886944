// A program run as a child: its output on pipes, its end awaited without blocking.
#ifndef SEXTANT_SERVER_PROBE_CHILD_PROCESS_H_
#define SEXTANT_SERVER_PROBE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace sextant::server {

// How a process ended.
struct ChildEnd {
  bool signaled = false;
  int code = 0;  // the signal's number, or the exit code
};

// A process that leads its own group, with no signal blocked or ignored, an empty standard input,
// and no inherited descriptor but the two pipes. All members are called on one thread, which has to
// outlive the child: a parent-death signal is sent when the thread that started it ends.
class ChildProcess {
 public:
  // Runs the program at the path `program`.
  //
  // Errors: kNotFound where `program` is not an executable file, kUnavailable where it can't be
  // started now, as without a free descriptor; each says why.
  static absl::StatusOr<ChildProcess> Start(const std::string& program,
                                            const std::vector<std::string>& arguments);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // Kills it and waits for its end, within kEndSeconds.
  ~ChildProcess();

  // The read ends of its standard output and error; not blocking.
  int stdout_fd() const { return stdout_fd_; }
  int stderr_fd() const { return stderr_fd_; }
  // Polls readable once it has ended.
  int end_fd() const { return end_fd_; }

  // Kills it and all that it has started in its group, unless it is reaped already.
  void Kill();

  // Returns how it ended; waits up to kEndSeconds. Absent where it has not ended, even if killed,
  // as when it hangs within the kernel; or where SIGCHLD is ignored, so that its end can't be read.
  absl::optional<ChildEnd> End();

  static constexpr int kEndSeconds = 5;

 private:
  struct Descriptors {
    int stdout_fd;
    int stderr_fd;
    int end_fd;
  };
  ChildProcess(pid_t pid, const Descriptors& descriptors);

  pid_t pid_;  // 0: moved from
  int stdout_fd_;
  int stderr_fd_;
  int end_fd_;
  absl::optional<ChildEnd> end_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_CHILD_PROCESS_H_
