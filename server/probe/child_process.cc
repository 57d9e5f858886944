#include "server/probe/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

absl::Status CannotStart(const std::string& program, int error) {
  const std::string message = absl::StrCat("can't start \"", program, "\": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ENOEXEC:
      return absl::NotFoundError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// Kills a child just started, where nothing reports its end.
void KillAndWait(pid_t pid) {
  kill(-pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Close(int fd) {
  if (fd >= 0) close(fd);
}

// A pipe. Both ends close on exec, except the child's copy, and in the destructor.
class Pipe {
 public:
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    Close(ends_[0]);
    Close(ends_[1]);
  }

  // Returns an errno, or 0.
  int Open() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) return errno;
    return fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
  }
  int write_end() const { return ends_[1]; }
  int TakeReadEnd() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

// Sets the child up between fork and exec: descriptors, signals, process group.
class SpawnRules {
 public:
  SpawnRules(const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out.write_end(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err.write_end(), STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnRules(const SpawnRules&) = delete;
  SpawnRules& operator=(const SpawnRules&) = delete;
  ~SpawnRules() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  // Returns an errno, or 0 and the child's id.
  int Spawn(const std::string& program, const std::vector<std::string>& arguments,
            pid_t* pid) const {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    return posix_spawn(pid, program.c_str(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::string& program,
                                                 const std::vector<std::string>& arguments) {
  Pipe out;
  Pipe err;
  for (Pipe* pipe : {&out, &err}) {
    if (const int error = pipe->Open(); error != 0) return CannotStart(program, error);
  }
  pid_t pid = 0;
  const int error = SpawnRules(out, err).Spawn(program, arguments, &pid);
  if (error != 0) return CannotStart(program, error);
  // glibc 2.36 declares pidfd_open() without C linkage.
  const int end_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (end_fd < 0) {
    const int end_error = errno;
    if (end_error != ESRCH) KillAndWait(pid);  // else the system has reaped it already
    return CannotStart(program, end_error);
  }
  return ChildProcess(pid, {out.TakeReadEnd(), err.TakeReadEnd(), end_fd});
}

ChildProcess::ChildProcess(pid_t pid, const Descriptors& descriptors)
    : pid_(pid),
      stdout_fd_(descriptors.stdout_fd),
      stderr_fd_(descriptors.stderr_fd),
      end_fd_(descriptors.end_fd) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      stdout_fd_(std::exchange(other.stdout_fd_, -1)),
      stderr_fd_(std::exchange(other.stderr_fd_, -1)),
      end_fd_(std::exchange(other.end_fd_, -1)),
      end_(other.end_) {}

ChildProcess::~ChildProcess() {
  if (pid_ != 0) {
    Kill();
    End();
  }
  Close(stdout_fd_);
  Close(stderr_fd_);
  Close(end_fd_);
}

void ChildProcess::Kill() {
  // Once it is reaped, by us or by a system that ignores SIGCHLD, its number may be another
  // process's. A group's leader that is a zombie still holds the number.
  siginfo_t ignored = {};
  if (end_.has_value() ||
      waitid(P_PID, static_cast<id_t>(pid_), &ignored, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return;
  }
  kill(-pid_, SIGKILL);
}

absl::optional<ChildEnd> ChildProcess::End() {
  if (end_.has_value()) return end_;
  pollfd ended = {.fd = end_fd_, .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, kEndSeconds * 1000) < 0 && errno == EINTR) continue;
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
    return {};
  }
  end_ = ChildEnd{.signaled = info.si_code != CLD_EXITED, .code = info.si_status};
  return end_;
}

}  // namespace sextant::server
