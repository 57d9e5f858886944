// The textbook's questions as calls.
#ifndef SEXTANT_TESTS_SERVER_TEXTBOOK_QUESTIONS_H_
#define SEXTANT_TESTS_SERVER_TEXTBOOK_QUESTIONS_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/json_call.h"

namespace sextant::server {

// Asks `server`, with a row's inputs.
using AskedQuestion =
    std::function<nlohmann::json(const TestServer& server, const nlohmann::json& inputs)>;
using AskedQuestions = std::map<std::string, AskedQuestion>;

AskedQuestions AskedOfTensors();
AskedQuestions AskedOfNumbers();
AskedQuestions AskedOfOperations();
AskedQuestions AskedOfGraphs();
AskedQuestions AskedOfRuns();

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_TEXTBOOK_QUESTIONS_H_
