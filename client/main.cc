#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <streambuf>
#include <string>
#include <vector>

#include "client/command/run_client.h"

namespace {

// Columns of the terminal at `file_descriptor`; 0 where it is not a terminal.
int TerminalColumns(int file_descriptor) {
  if (isatty(file_descriptor) == 0) return 0;
  constexpr int kUsual = 80;  // where a terminal does not report its width
  struct winsize size = {};
  const bool told = ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsual;
}

// Takes the places of standard streams that are closed, so that no socket becomes one of them. Each
// is opened the wrong way round: reading or writing it still fails.
void OccupyStandardStreams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    // The lowest number that is free, which is `file`.
    (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Standard output, written where it is flushed. What could not be written is kept and tried again
// at the next flush, and errno then says why; std::cout would forget both.
class StandardOutput final : public std::streambuf {
 protected:
  int_type overflow(int_type byte) override {
    if (byte != traits_type::eof()) pending_ += traits_type::to_char_type(byte);
    return traits_type::not_eof(byte);
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    pending_.append(bytes, static_cast<size_t>(count));
    return count;
  }
  int sync() override {
    size_t done = 0;
    while (done < pending_.size()) {
      const ssize_t written = write(STDOUT_FILENO, pending_.data() + done, pending_.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) break;
      done += static_cast<size_t>(written);
    }
    pending_.erase(0, done);
    return pending_.empty() ? 0 : -1;
  }

 private:
  std::string pending_;
};

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardStreams();
  // A write then fails instead, and the exit code says so.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // protobuf would log text that is not UTF-8; the server's answer reports it better.
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  StandardOutput buffer;
  std::ostream out(&buffer);
  return sextant::client::RunClient(args, {.in = std::cin,
                                           .out = out,
                                           .err = std::cerr,
                                           .err_columns = TerminalColumns(STDERR_FILENO),
                                           .out_columns = TerminalColumns(STDOUT_FILENO)});
}
