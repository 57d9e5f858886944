#include "tests/validation/step_folds.h"

#include <algorithm>
#include <set>
#include <string>

namespace sextant {
namespace {

constexpr size_t kDenseFolds = 7;

StepGroup Dense(const std::vector<StepCase>& cases) {
  return Where(cases, [](const StepCase& each) { return !each.row.experts; });
}

StepGroup Experts(const std::vector<StepCase>& cases) {
  return Where(cases, [](const StepCase& each) { return each.row.experts; });
}

// The cases of `group` in and out of one fold.
struct Split {
  StepGroup others;
  StepGroup left_out;
};

Split SplitOf(const StepGroup& group, const std::set<std::string>& left_out,
              const std::function<std::string(const StepCase&)>& name) {
  Split out;
  for (const StepCase* each : group) {
    (left_out.contains(name(*each)) ? out.left_out : out.others).push_back(each);
  }
  return out;
}

// Widens `ranges` by one fold's values.
void Add(const std::vector<StepConstant>& constants, const std::vector<double>& values,
         bool experts, std::vector<StepConstantRange>& ranges) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (constants[i].experts != experts) continue;
    ranges[i].low = std::min(ranges[i].low, values[i]);
    ranges[i].high = std::max(ranges[i].high, values[i]);
  }
}

// Estimates on split.others and predicts split.left_out.
struct FoldRun {
  StepFit& fit;
  StepFolds& out;
  bool experts = false;

  void Do(const Split& split, const std::vector<double>& start) {
    const std::vector<double> values = fit.Values(split.others, start, experts);
    Add(out.constants, values, experts, out.ranges);
    for (const StepCase* each : split.left_out) {
      absl::StatusOr<StepPrediction> predicted = fit.PredictionAt(each->row, values);
      if (predicted.ok()) out.left_out[each] = *std::move(predicted);
    }
  }
};

std::string FamilyOf(const StepCase& each) { return each.row.family; }
std::string ModelOf(const StepCase& each) { return each.row.model; }

}  // namespace

std::vector<double> ValuesInSight(const std::vector<StepCase>& cases, StepFit& fit,
                                  const std::vector<StepConstant>& constants) {
  const std::vector<double> dense = fit.Values(Dense(cases), NeutralValues(constants), false);
  return fit.Values(Experts(cases), dense, true);
}

StepFolds FoldsOf(const std::vector<StepCase>& cases, StepAsker& asker) {
  StepFolds out = {.constants = StepConstants()};
  StepFit fit(out.constants, asker);
  const StepGroup dense = Dense(cases);
  const StepGroup experts = Experts(cases);
  const std::vector<double> neutral = NeutralValues(out.constants);
  const std::vector<double> in_sight = ValuesInSight(cases, fit, out.constants);
  const StepGroup all = Where(cases, [](const StepCase&) { return true; });
  for (size_t i = 0; i < in_sight.size(); ++i) {
    out.ranges.push_back(
        {.in_sight = in_sight[i],
         .low = in_sight[i],
         .high = in_sight[i],
         .families = fit.FamiliesFor(i, out.constants[i].experts ? experts : dense)});
  }
  for (const StepCase* each : all) {
    const auto predicted = fit.PredictionAt(each->row, neutral);
    if (predicted.ok()) out.neutral[each] = *predicted;
  }
  std::vector<std::set<std::string>> folds(kDenseFolds);
  size_t next = 0;
  for (const auto& [family, group] : GroupsBy(dense, FamilyOf)) {
    folds[next++ % kDenseFolds].insert(family);
  }
  for (const std::set<std::string>& fold : folds) {
    FoldRun{.fit = fit, .out = out}.Do(SplitOf(dense, fold, FamilyOf), neutral);
    ++out.dense_fold_count;
  }
  std::vector<double> with_dense = in_sight;
  for (size_t i = 0; i < neutral.size(); ++i) {
    if (out.constants[i].experts) with_dense[i] = neutral[i];
  }
  for (const auto& [model, group] : GroupsBy(experts, ModelOf)) {
    FoldRun{.fit = fit, .out = out, .experts = true}.Do(SplitOf(experts, {model}, ModelOf),
                                                        with_dense);
    ++out.expert_fold_count;
  }
  return out;
}

}  // namespace sextant
