// Answers what tests/validation asks of the engine and can't ask of the API: fits to chosen points,
// and estimates that take a million plans.
//
//   validation_fits
//
// Reads questions from standard input, a JSON object a line: {"ask": name, ...}. Writes each answer
// as a line. tests/validation/fits.py talks to it. A question without an answer ends the program.
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/util/json_util.h"
#include "tests/validation/fits/kernel_questions.h"
#include "tests/validation/fits/step_asker.h"
#include "tests/validation/fits/step_fit.h"

namespace sextant {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepConstant, field, neutral, low, high, grid, doubt, experts)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepPrediction, expected, low, high, centre, span_low, span_high,
                                   parts)

namespace {

using nlohmann::json;

// A row of a question is an object of StepRow's fields; requests are PlanRunRequests in JSON, and
// constants the indices of those that hold for it. A prediction is an object of StepPrediction's
// fields.
v1::PlanRunRequest RequestIn(const json& in) {
  v1::PlanRunRequest out;
  const auto parsed = google::protobuf::util::JsonStringToMessage(in.dump(), &out);
  if (!parsed.ok()) throw std::invalid_argument(parsed.ToString());
  return out;
}

StepRow RowIn(const json& in, size_t constant_count) {
  StepRow out = {.family = in.at("family"),
                 .model = in.at("model"),
                 .experts = in.at("experts"),
                 .measured = in.at("measured"),
                 .recompute_blank = in.at("recompute_blank"),
                 .point_share = in.at("point_share"),
                 .low_share = in.at("low_share"),
                 .scales = in.at("scales"),
                 .stack = in.at("stack")};
  for (const json& request : in.at("requests")) out.requests.push_back(RequestIn(request));
  if (!in.at("left_open").is_null()) out.left_open = RequestIn(in.at("left_open"));
  out.constants.resize(constant_count);
  if (constant_count == 0) return out;
  for (const size_t index : in.at("constants").get<std::vector<size_t>>()) {
    out.constants.at(index) = true;
  }
  return out;
}

std::vector<StepRow> RowsIn(const json& question, size_t constant_count) {
  std::vector<StepRow> out;
  for (const json& row : question.at("rows")) out.push_back(RowIn(row, constant_count));
  return out;
}

json JsonOf(const StepPredictions& predictions, const std::vector<StepRow>& rows) {
  json out = json::array();
  for (const StepRow& row : rows) {
    const auto found = predictions.find(&row);
    out.push_back(found == predictions.end() ? json() : json(found->second));
  }
  return out;
}

// {rows}: predictions with the stacks' own constants, or {"error": text}.
json StepPredictionsFor(const json& question, StepAsker& asker) {
  json out = json::array();
  for (const StepRow& row : RowsIn(question, 0)) {
    const absl::StatusOr<StepPrediction> predicted = asker.Ask(row, {});
    out.push_back(predicted.ok() ? json(*predicted)
                                 : json{{"error", std::string(predicted.status().message())}});
  }
  return out;
}

// {rows, constants}, a constant being an object of StepConstant's fields: "ranges", by constant
// [on all rows, least and most of the folds, families that speak for it], the numbers of folds,
// and predictions "left_out" and "neutral", null where the service refuses. Minutes.
json StepFoldsFor(const json& question, StepAsker& asker) {
  const auto constants = question.at("constants").get<std::vector<StepConstant>>();
  const std::vector<StepRow> rows = RowsIn(question, constants.size());
  const StepFolds folds = FoldsOf(rows, constants, asker);
  json ranges = json::array();
  for (const StepConstantRange& range : folds.ranges) {
    ranges.push_back({range.in_sight, range.low, range.high, range.families});
  }
  return {{"ranges", std::move(ranges)},
          {"dense_folds", folds.dense_fold_count},
          {"expert_folds", folds.expert_fold_count},
          {"left_out", JsonOf(folds.left_out, rows)},
          {"neutral", JsonOf(folds.neutral, rows)}};
}

json AnswerTo(const json& question, StepAsker& asker) {
  const std::string ask = question.at("ask");
  if (ask == "step_predictions") return StepPredictionsFor(question, asker);
  if (ask == "step_folds") return StepFoldsFor(question, asker);
  return KernelQuestions().at(ask)(question);
}

int Main() {
  StepAsker asker;
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << AnswerTo(json::parse(line), asker).dump() << std::endl;
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
