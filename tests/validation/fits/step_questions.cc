#include "tests/validation/fits/step_questions.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "google/protobuf/util/json_util.h"
#include "tests/validation/fits/step_folds.h"

namespace sextant {
namespace {

using nlohmann::json;

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

StepConstant ConstantIn(const json& in) {
  return {.field = in.at("field"),
          .neutral = in.at("neutral"),
          .low = in.at("low"),
          .high = in.at("high"),
          .grid = in.at("grid"),
          .doubt = in.at("doubt"),
          .experts = in.at("experts")};
}

json JsonOf(const StepPrediction& in) {
  return {{"expected", in.expected}, {"low", in.low},           {"high", in.high},
          {"centre", in.centre},     {"span_low", in.span_low}, {"span_high", in.span_high},
          {"parts", in.parts}};
}

json JsonOf(const StepPredictions& predictions, const std::vector<StepRow>& rows) {
  json out = json::array();
  for (const StepRow& row : rows) {
    const auto found = predictions.find(&row);
    out.push_back(found == predictions.end() ? json() : JsonOf(found->second));
  }
  return out;
}

}  // namespace

json StepQuestions::Predictions(const json& question) {
  json out = json::array();
  for (const StepRow& row : RowsIn(question, 0)) {
    const absl::StatusOr<StepPrediction> predicted = asker_.Ask(row, {});
    out.push_back(predicted.ok() ? JsonOf(*predicted)
                                 : json{{"error", std::string(predicted.status().message())}});
  }
  return out;
}

json StepQuestions::Folds(const json& question) {
  std::vector<StepConstant> constants;
  for (const json& constant : question.at("constants")) constants.push_back(ConstantIn(constant));
  const std::vector<StepRow> rows = RowsIn(question, constants.size());
  const StepFolds folds = FoldsOf(rows, constants, asker_);
  json ranges = json::array();
  for (const StepConstantRange& range : folds.ranges) {
    ranges.push_back({range.in_sight, range.low, range.high, range.families});
  }
  return {{"ranges", ranges},
          {"dense_folds", folds.dense_fold_count},
          {"expert_folds", folds.expert_fold_count},
          {"left_out", JsonOf(folds.left_out, rows)},
          {"neutral", JsonOf(folds.neutral, rows)}};
}

}  // namespace sextant
