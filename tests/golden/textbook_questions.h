// The textbook's questions, by the id of the answer, as the engine is asked them.
#ifndef SEXTANT_TESTS_GOLDEN_TEXTBOOK_QUESTIONS_H_
#define SEXTANT_TESTS_GOLDEN_TEXTBOOK_QUESTIONS_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace sextant {

// From a row's inputs to what its "expected" is to be compared with.
using TextbookQuestions =
    std::map<std::string, std::function<nlohmann::json(const nlohmann::json& inputs)>>;

// On number formats, and on the bytes of tensors and token files.
TextbookQuestions NumberQuestions();

// On single operations: FLOPs, bytes, backward, rooflines, initialisation, copies.
TextbookQuestions OperationQuestions();

// On models of a few layers, as graphs.
TextbookQuestions GraphQuestions();

// On shapes, views and axis expressions.
TextbookQuestions TensorQuestions();

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_TEXTBOOK_QUESTIONS_H_
