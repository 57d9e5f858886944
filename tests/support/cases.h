// Tables of cases that tests walk: a JSON object a line, of the table that its "of" names.
#ifndef SEXTANT_TESTS_SUPPORT_CASES_H_
#define SEXTANT_TESTS_SUPPORT_CASES_H_

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/source_folder.h"

namespace sextant {

// The rows of the table `name` in a file of the tree; `note` of a row is for its reader.
inline std::vector<nlohmann::json> CasesIn(const std::string& path, const std::string& name) {
  std::ifstream file(SourceFolder() + "/" + path);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    if (row.at("of") == name) rows.push_back(std::move(row));
  }
  EXPECT_FALSE(rows.empty()) << path << ": " << name;
  return rows;
}

// The text in a field of a row.
inline std::string TextIn(const nlohmann::json& row, const char* field) {
  return row.at(field).get<std::string>();
}

inline std::string ContentOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_CASES_H_
