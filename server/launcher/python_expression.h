// Expressions of Python, evaluated as far as literals go.
#ifndef SEXTANT_SERVER_LAUNCHER_PYTHON_EXPRESSION_H_
#define SEXTANT_SERVER_LAUNCHER_PYTHON_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/launcher/python_words.h"

namespace sextant::server {

// Stands for a value that is not known, as in a SettingFile.
inline constexpr char kPythonOpen[] = "auto";

struct PythonScope {
  std::map<std::string, nlohmann::json> names = {};
  std::map<std::string, nlohmann::json> functions = {};  // what they return
  // Values that may still be copied: a name can stand for a list that holds names.
  int64_t budget = 20'000;

  // A copy of what a name stands for, as long as all copies are of a sound size; else open.
  nlohmann::json CopyOf(const nlohmann::json& value);
};

// The value of the words from `first` on. Their brackets are balanced, and at most 32 deep.
nlohmann::json PythonValueOf(const std::vector<PythonWord>& words, size_t first,
                             PythonScope& scope);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_PYTHON_EXPRESSION_H_
