#include <google/protobuf/stubs/logging.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
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

}  // namespace

int main(int argc, char** argv) {
  // protobuf would log text that is not UTF-8; the server's answer reports it better.
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sextant::client::RunClient(args, {.in = std::cin,
                                           .out = std::cout,
                                           .err = std::cerr,
                                           .err_columns = TerminalColumns(STDERR_FILENO),
                                           .out_columns = TerminalColumns(STDOUT_FILENO)});
}
