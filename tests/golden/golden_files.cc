#include "tests/golden/golden_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/support/source_folder.h"

namespace sextant {
namespace {

const std::string kGolden = SourceFolder() + "/tests/golden/";

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

}  // namespace

std::vector<nlohmann::json> GoldenLines(const std::string& file) {
  return JsonLines(kGolden + file);
}

std::string GoldenConfig(const std::string& model) {
  const std::string name = "{\"name\": \"" + model + "\", ";
  const std::string config = "\"config\": ";
  for (const std::string& line : Lines(kGolden + "config_json.jsonl")) {
    if (line.rfind(name, 0) != 0) continue;
    const size_t start = line.find(config) + config.size();
    return line.substr(start, line.size() - start - 1);
  }
  throw std::runtime_error("no config.json of " + model);
}

std::vector<CsvRow> GoldenRows(const std::string& file) {
  absl::StatusOr<std::vector<CsvRow>> rows = ReadCsv(kGolden + file);
  if (!rows.ok()) throw std::runtime_error(std::string(rows.status().message()));
  return *std::move(rows);
}

std::string SharedDirectory() {
  const char* given = std::getenv("SEXTANT_SHARED_DIR");
  const std::string path = given != nullptr ? given : SourceFolder() + "/../shared";
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
