// Known answers, from the small set in the tree and from the large tables outside it.
#ifndef SEXTANT_TESTS_GOLDEN_GOLDEN_FILES_H_
#define SEXTANT_TESTS_GOLDEN_GOLDEN_FILES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/csv.h"

namespace sextant {

// The lines of a JSON-lines file of tests/golden. Throws where it is missing or broken: a
// test without its answers must not pass.
std::vector<nlohmann::json> GoldenLines(const std::string& file);

// The text of a model's config.json in config_json.jsonl.
std::string GoldenConfig(const std::string& model);

// The rows of a CSV file of tests/golden (quoted cells allowed), each by column name.
std::vector<CsvRow> GoldenRows(const std::string& file);

// The folder of the large shared tables: $SEXTANT_SHARED_DIR, or ../shared next to the source tree.
// Empty where it does not exist; a test that needs it is then skipped.
std::string SharedDirectory();

// The lines of a JSON-lines file below SharedDirectory().
std::vector<nlohmann::json> SharedLines(const std::string& file);

// A JSON file below SharedDirectory().
nlohmann::json SharedJson(const std::string& file);

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_GOLDEN_FILES_H_
