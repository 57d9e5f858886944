#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "client/run_client.h"
#include "client/terminal.h"

int main(int argc, char** argv) {
  // protobuf would write of text that is not UTF-8; the server's answer says it better.
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sextant::RunClient(args, {.in = std::cin,
                                   .out = std::cout,
                                   .err = std::cerr,
                                   .err_columns = sextant::TerminalColumns(STDERR_FILENO)});
}
