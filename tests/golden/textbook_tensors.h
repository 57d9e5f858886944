// The textbook's questions about tensors and axis expressions.
#ifndef SEXTANT_TESTS_GOLDEN_TEXTBOOK_TENSORS_H_
#define SEXTANT_TESTS_GOLDEN_TEXTBOOK_TENSORS_H_

#include <nlohmann/json.hpp>
#include <optional>

namespace sextant {

// The engine's answer to `row` of textbook_answers.jsonl; nothing where it asks about something
// else. Shapes are arrays, sizes by name objects, and whether something matches a boolean.
std::optional<nlohmann::json> TensorAnswer(const nlohmann::json& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_TEXTBOOK_TENSORS_H_
