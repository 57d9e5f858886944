// The textbook's questions about single operations, each asked of the engine.
#ifndef SEXTANT_TESTS_GOLDEN_TEXTBOOK_OPERATIONS_H_
#define SEXTANT_TESTS_GOLDEN_TEXTBOOK_OPERATIONS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace sextant {

using AskedOfOperations = double (*)(const nlohmann::json& inputs);

// By the identifier of the answer.
const std::map<std::string, AskedOfOperations>& OperationQuestions();

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_TEXTBOOK_OPERATIONS_H_
