#include "client/io/local_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sextant::client {
namespace {

constexpr char kProgram[] = "sextantd";
constexpr absl::Duration kPatience = absl::Seconds(10);

// The file that a signal handler removes; "": none. Written before the handlers are set.
char socket_to_remove[256];
char folder_to_remove[256];

void RemoveAndEnd(int signal_number) {
  unlink(socket_to_remove);
  rmdir(folder_to_remove);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// Signals that end the process also end what it made. A handler that is there already stays.
void WatchSignals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction former = {};
    if (sigaction(number, nullptr, &former) != 0 || former.sa_handler != SIG_DFL) continue;
    struct sigaction action = {};
    action.sa_handler = RemoveAndEnd;
    sigaction(number, &action, nullptr);
  }
}

absl::StatusOr<std::string> FindProgram() {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  std::vector<std::string> folders;
  if (length > 0) {
    const std::string path(self, static_cast<size_t>(length));
    folders.push_back(path.substr(0, path.rfind('/')));
  }
  if (const char* path = std::getenv("PATH")) {
    for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      folders.emplace_back(folder);
    }
  }
  for (const std::string& folder : folders) {
    std::string program = absl::StrCat(folder, "/", kProgram);
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return absl::NotFoundError("no sextantd next to this program or in $PATH");
}

absl::StatusOr<std::string> NewFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& parent :
       {std::string(runtime == nullptr ? "" : runtime), std::string("/tmp")}) {
    if (parent.empty()) continue;
    std::string name = absl::StrCat(parent, "/sextant-XXXXXX");
    if (mkdtemp(name.data()) != nullptr) return name;  // mode 0700
  }
  return absl::UnavailableError(absl::StrCat("cannot make a folder in /tmp: ", strerror(errno)));
}

// In the child: becomes the server, which writes to `log` and ends when its parent does.
[[noreturn]] void BecomeServer(const std::string& program, const std::string& address, int log,
                               pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it ended before that
  setpgid(0, 0);                      // a Ctrl-C is the client's to handle
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);  // the client ignores them
  const std::string listen = absl::StrCat("--listen=", address);
  const std::string threads =
      absl::StrCat("--search_threads=", std::max(1U, std::thread::hardware_concurrency()));
  const char* const args[] = {kProgram,
                              listen.c_str(),
                              "--http_listen=none",
                              "--log_calls=none",
                              "--gpu_sampling=none",
                              "--search_niceness=0",  // there is no other call
                              threads.c_str(),
                              "--drain_announce_seconds=0",
                              nullptr};
  execv(program.c_str(), const_cast<char* const*>(args));
  _exit(127);
}

// Reads the server's log until it says that it serves. Errors: kUnavailable with the last of it.
absl::Status AwaitServing(int log) {
  const absl::Time end = absl::Now() + kPatience;
  std::string said;
  while (!absl::StrContains(said, "\"event\":\"serving\"")) {
    struct pollfd ready = {log, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
    char bytes[4096];
    const bool more = left > 0 && poll(&ready, 1, static_cast<int>(left)) == 1;
    const ssize_t length = more ? read(log, bytes, sizeof(bytes)) : 0;
    if (length <= 0) {
      return absl::UnavailableError(
          absl::StrCat(kProgram, " does not start", said.empty() ? "" : ": ", said));
    }
    said.append(bytes, static_cast<size_t>(length));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsServed(const std::string& address) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  struct sockaddr_in place = {};
  place.sin_family = AF_INET;
  uint32_t port = 0;
  if (parts.size() != 2 || inet_pton(AF_INET, parts[0].c_str(), &place.sin_addr) != 1 ||
      !absl::SimpleAtoi(parts[1], &port)) {
    return true;
  }
  place.sin_port = htons(static_cast<uint16_t>(port));
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return true;
  const int failed =
      connect(connection, reinterpret_cast<const struct sockaddr*>(&place), sizeof(place));
  const bool refused = failed != 0 && errno == ECONNREFUSED;
  close(connection);
  return !refused;
}

LocalServer::~LocalServer() {
  if (child_ > 0) {
    // Nobody waits for it any more, and what it measured is on disk before its answer. Its own
    // child ends with it (sextant-probe --parent_pid).
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (log_ >= 0) close(log_);
  if (folder_.empty()) return;
  unlink(absl::StrCat(folder_, "/socket").c_str());
  rmdir(folder_.c_str());
}

absl::Status LocalServer::Start() {
  const absl::StatusOr<std::string> program = FindProgram();
  if (!program.ok()) return program.status();
  absl::StatusOr<std::string> folder = NewFolder();
  if (!folder.ok()) return folder.status();
  folder_ = *std::move(folder);
  const std::string path = absl::StrCat(folder_, "/socket");
  address_ = absl::StrCat("unix:", path);
  if (path.size() < sizeof(socket_to_remove)) {
    strcpy(socket_to_remove, path.c_str());
    strcpy(folder_to_remove, folder_.c_str());
    WatchSignals();
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(strerror(errno));
  log_ = ends[0];
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) BecomeServer(*program, address_, ends[1], parent);
  close(ends[1]);
  if (child_ < 0) return absl::UnavailableError(absl::StrCat("cannot fork: ", strerror(errno)));
  return AwaitServing(log_);
}

}  // namespace sextant::client
