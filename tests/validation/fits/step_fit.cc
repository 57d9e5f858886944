#include "tests/validation/fits/step_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace sextant {
namespace {

constexpr double kHuber = 0.1;     // of ln(predicted / measured)
constexpr double kCap = 0.35;      // of it: what is off by more says nothing about constants
constexpr double kPenalty = 0.02;  // of a departure by a constant's doubt, squared
constexpr int kRounds = 4;
constexpr int kSteps[] = {8, 4, 2, 1};  // of the grid
constexpr double kGain = 1e-9;          // of the loss: less is rounding
constexpr double kNoticed = 1e-3;

double Huber(double error) {
  const double size = std::min(std::abs(error), kCap);
  return size < kHuber ? size * size / (2 * kHuber) : size - kHuber / 2;
}

double PenaltyOf(const StepConstant& constant, double value) {
  const double departure = (value - constant.neutral) / constant.doubt;
  return kPenalty * departure * departure;
}

// The nearest multiple of the grid within bounds.
double OnGrid(const StepConstant& constant, double value) {
  const double rounded = constant.grid * std::round(value / constant.grid);
  return std::clamp(rounded, constant.low, constant.high);
}

}  // namespace

std::vector<double> NeutralValues(const std::vector<StepConstant>& constants) {
  std::vector<double> out;
  for (const StepConstant& constant : constants) out.push_back(constant.neutral);
  return out;
}

absl::StatusOr<StepPrediction> StepFit::PredictionAt(const StepRow& row,
                                                     const std::vector<double>& values) {
  StepOverrides overrides;
  for (size_t i = 0; i < constants_.size(); ++i) {
    if (row.constants[i]) overrides[constants_[i].field] = values[i];
  }
  return asker_.Ask(row, overrides);
}

double StepFit::LossOf(const StepRow& row, const std::vector<double>& values) {
  const absl::StatusOr<StepPrediction> predicted = PredictionAt(row, values);
  if (!predicted.ok()) return 0;
  const double error =
      row.low_share > 0 ? predicted->ErrorOf(row.measured) : predicted->SpanErrorOf(row.measured);
  return weights_.at(row.family) * Huber(std::log1p(error));
}

bool StepFit::Move(size_t index, const StepGroup& touched, std::vector<double>& values) {
  const StepConstant& constant = constants_[index];
  // Exact below `limit`; else at least that, since no row's loss is negative.
  const auto loss = [&](double value, double limit) {
    values[index] = value;
    double out = PenaltyOf(constant, value);
    for (const StepRow* each : touched) {
      if (out >= limit) break;
      out += LossOf(*each, values);
    }
    return out;
  };
  const double start = values[index];
  double best = start;
  double least = loss(best, std::numeric_limits<double>::infinity());
  for (const int step : kSteps) {
    for (const double sign : {1.0, -1.0}) {
      for (;;) {
        const double next = OnGrid(constant, best + sign * step * constant.grid);
        const double limit = least - kGain;
        const double tried = next == best ? least : loss(next, limit);
        if (tried >= limit) break;
        best = next;
        least = tried;
      }
    }
  }
  values[index] = best;
  return best != start;
}

std::vector<double> StepFit::Values(const StepGroup& rows, std::vector<double> start,
                                    bool experts) {
  weights_.clear();
  for (const StepRow* each : rows) weights_[each->family] += 1;
  for (auto& [family, weight] : weights_) weight = 1 / std::sqrt(weight);
  std::vector<StepGroup> touched(constants_.size());
  for (size_t i = 0; i < constants_.size(); ++i) {
    for (const StepRow* each : rows) {
      if (each->constants[i]) touched[i].push_back(each);
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    bool moved = false;
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i].experts != experts || touched[i].empty()) continue;
      moved |= Move(i, touched[i], start);
    }
    if (!moved) break;
  }
  return start;
}

int64_t StepFit::FamiliesFor(size_t index, const StepGroup& rows) {
  const StepConstant& constant = constants_[index];
  std::vector<double> values = NeutralValues(constants_);
  std::vector<double> other = values;
  other[index] = std::min(constant.high, constant.neutral + constant.doubt);
  std::set<std::string> out;
  for (const StepRow* each : rows) {
    if (!each->constants[index] || out.contains(each->family)) continue;
    const auto before = PredictionAt(*each, values);
    const auto after = PredictionAt(*each, other);
    if (!before.ok() || !after.ok()) continue;
    if (std::abs(after->expected / before->expected - 1) > kNoticed) out.insert(each->family);
  }
  return static_cast<int64_t>(out.size());
}

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
