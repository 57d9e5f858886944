// Runs command lines of `sextant`, all in this process, for text_test.py. Reads one a line as a
// JSON object of "folder", where it runs, "arguments" and "columns" of its terminal (0: none), and
// writes an object of "out", "err" and "code" for each.
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "client/command/run_client.h"

namespace {

nlohmann::json Run(const nlohmann::json& command) {
  if (chdir(command.at("folder").get<std::string>().c_str()) != 0) return nullptr;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = sextant::client::RunClient(
      command.at("arguments").get<std::vector<std::string>>(),
      {.in = in, .out = out, .err = err, .out_columns = command.at("columns").get<int>()});
  return {{"out", out.str()}, {"err", err.str()}, {"code", code}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Run(nlohmann::json::parse(line)) << std::endl;
  }
}
