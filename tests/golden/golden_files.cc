#include "tests/golden/golden_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace sextant {
namespace {

const std::string kGolden = std::string(SEXTANT_SOURCE_DIR) + "/tests/golden/";

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("missing: " + path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

std::vector<nlohmann::json> JsonLines(const std::string& path) {
  std::vector<nlohmann::json> out;
  for (const std::string& line : Lines(path)) out.push_back(nlohmann::json::parse(line));
  return out;
}

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

std::vector<nlohmann::json> GoldenLines(const std::string& file) {
  return JsonLines(kGolden + file);
}

std::vector<std::map<std::string, std::string>> GoldenRows(const std::string& file) {
  const std::vector<std::string> lines = Lines(kGolden + file);
  const std::vector<std::string> columns = Cells(lines.at(0));
  std::vector<std::map<std::string, std::string>> out;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = Cells(lines[i]);
    if (cells.size() != columns.size()) throw std::runtime_error(file + ": ragged: " + lines[i]);
    auto& row = out.emplace_back();
    for (size_t c = 0; c < columns.size(); ++c) row[columns[c]] = cells[c];
  }
  return out;
}

std::string SharedDirectory() {
  const char* given = std::getenv("SEXTANT_SHARED_DIR");
  const std::string path =
      given != nullptr ? given : std::string(SEXTANT_SOURCE_DIR) + "/../shared";
  return std::filesystem::is_directory(path + "/golden") ? path : "";
}

std::vector<nlohmann::json> SharedLines(const std::string& file) {
  return JsonLines(SharedDirectory() + "/" + file);
}

nlohmann::json SharedJson(const std::string& file) {
  std::ifstream in(SharedDirectory() + "/" + file);
  return nlohmann::json::parse(in);  // throws where the file is missing or broken
}

}  // namespace sextant
