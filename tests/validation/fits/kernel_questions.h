// Questions about kernel times that need the engine's models: fits to chosen points, and the
// published points that the engine has.
#ifndef SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_
#define SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace sextant {

using Question = nlohmann::json (*)(const nlohmann::json& question);

// By name. Questions name a GPU as the catalogue does and a type as the published tables do
// ("fp8_block"). kernel_json.h has the form of shapes, points and times. Answers are null where the
// engine has none, and {"error": text} where a model refuses its points.
const std::map<std::string, Question>& KernelQuestions();

// {gpu, operators: [[kernel, pass, sizes a to f]]}: the time of each in bf16 as plans have it, as
// in tests/golden/training_operators.csv. A gradient of weights has its addition to fp32 numbers by
// the product's epilogue.
nlohmann::json OperatorTimes(const nlohmann::json& question);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_FITS_KERNEL_QUESTIONS_H_
