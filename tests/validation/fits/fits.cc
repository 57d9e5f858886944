// Answers what tests/validation asks of the engine and can't ask of the API: fits to chosen points,
// and estimates that take a million plans.
//
//   validation_fits
//
// Reads questions from standard input, a JSON object a line: {"ask": name, ...}. Writes each answer
// as a line. tests/validation/fits.py talks to it. A question without an answer ends the program.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/validation/fits/kernel_questions.h"
#include "tests/validation/fits/step_questions.h"

namespace sextant {
namespace {

using nlohmann::json;

json AnswerTo(const json& question, StepQuestions& steps) {
  static const auto* const kKernels = new std::map<std::string, json (*)(const json&)>{
      {"device", DeviceFacts},
      {"stated_errors", StatedErrors},
      {"matmul_times", MatmulTimes},
      {"attention_times", AttentionTimes},
      {"expert_times", ExpertTimes},
      {"attention_works", AttentionWorks},
      {"expert_works", ExpertWorks},
      {"expert_products", ExpertProducts},
      {"collective_times", CollectiveTimes},
      {"matmul_reference", MatmulReference},
      {"attention_reference", AttentionReferenceOf},
      {"expert_reference", ExpertReference},
      {"collective_reference", CollectiveReference},
      {"operator_times", OperatorTimes}};
  const std::string ask = question.at("ask");
  if (ask == "step_predictions") return steps.Predictions(question);
  if (ask == "step_folds") return steps.Folds(question);
  const auto found = kKernels->find(ask);
  if (found == kKernels->end()) throw std::invalid_argument("no such question: " + ask);
  return found->second(question);
}

int Main() {
  StepQuestions steps;
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << AnswerTo(json::parse(line), steps).dump() << std::endl;
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace sextant

int main() { return sextant::Main(); }
