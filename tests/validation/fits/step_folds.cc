#include "tests/validation/fits/step_folds.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace sextant {
namespace {

constexpr size_t kDenseFolds = 7;

StepGroup RowsOf(const std::vector<StepRow>& rows, bool experts) {
  StepGroup out;
  for (const StepRow& row : rows) {
    if (row.experts == experts) out.push_back(&row);
  }
  return out;
}

// A row's family, or its model.
using StepName = std::string StepRow::*;

std::set<std::string> NamesOf(const StepGroup& rows, StepName name) {
  std::set<std::string> out;
  for (const StepRow* row : rows) out.insert(row->*name);
  return out;
}

struct FoldRun {
  StepFit& fit;
  bool experts = false;
  std::vector<double> start;
  const std::vector<StepConstant>& constants;
  StepFolds& out;

  // Estimates on the rows of other names, and predicts the rest.
  void LeaveOut(const std::set<std::string>& names, StepName name, const StepGroup& rows) {
    StepGroup others;
    StepGroup left_out;
    for (const StepRow* row : rows) (names.contains(row->*name) ? left_out : others).push_back(row);
    const std::vector<double> values = fit.Values(others, start, experts);
    for (size_t i = 0; i < values.size(); ++i) {
      if (constants[i].experts != experts) continue;
      out.ranges[i].low = std::min(out.ranges[i].low, values[i]);
      out.ranges[i].high = std::max(out.ranges[i].high, values[i]);
    }
    Predict(left_out, values, out.left_out);
  }

  void Predict(const StepGroup& rows, const std::vector<double>& values, StepPredictions& to) {
    for (const StepRow* row : rows) {
      absl::StatusOr<StepPrediction> predicted = fit.PredictionAt(*row, values);
      if (predicted.ok()) to[row] = *std::move(predicted);
    }
  }
};

}  // namespace

StepFolds FoldsOf(const std::vector<StepRow>& rows, const std::vector<StepConstant>& constants,
                  StepAsker& asker) {
  StepFolds out;
  StepFit fit(constants, asker);
  const StepGroup dense = RowsOf(rows, false);
  const StepGroup experts = RowsOf(rows, true);
  const std::vector<double> neutral = NeutralValues(constants);
  const std::vector<double> in_sight = fit.Values(experts, fit.Values(dense, neutral, false), true);
  std::vector<double> with_dense = in_sight;
  for (size_t i = 0; i < constants.size(); ++i) {
    out.ranges.push_back({.in_sight = in_sight[i],
                          .low = in_sight[i],
                          .high = in_sight[i],
                          .families = fit.FamiliesFor(i, constants[i].experts ? experts : dense)});
    if (constants[i].experts) with_dense[i] = neutral[i];
  }
  FoldRun dense_run = {fit, false, neutral, constants, out};
  FoldRun expert_run = {fit, true, with_dense, constants, out};
  for (const StepGroup* group : {&dense, &experts}) {
    dense_run.Predict(*group, neutral, out.neutral);
  }
  std::vector<std::set<std::string>> folds(kDenseFolds);
  size_t next = 0;
  for (const std::string& family : NamesOf(dense, &StepRow::family)) {
    folds[next++ % kDenseFolds].insert(family);
  }
  for (const std::set<std::string>& fold : folds) {
    dense_run.LeaveOut(fold, &StepRow::family, dense);
    ++out.dense_fold_count;
  }
  for (const std::string& model : NamesOf(experts, &StepRow::model)) {
    expert_run.LeaveOut({model}, &StepRow::model, experts);
    ++out.expert_fold_count;
  }
  return out;
}

}  // namespace sextant
