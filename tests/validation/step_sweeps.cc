#include "tests/validation/step_sweeps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/validation/step_score.h"

namespace sextant {
namespace {

constexpr size_t kFewest = 4;
constexpr double kLeastSpread = 0.05;
constexpr double kTie = 1e-9;
constexpr double kSearchTie = 0.03;  // LayoutSearchResult.tie_ratio

// The mean of `measured` where `predicted` is least.
double CostOfFirst(const std::vector<double>& measured, const std::vector<double>& predicted) {
  const double least = *std::min_element(predicted.begin(), predicted.end());
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    if (predicted[i] > least * (1 + kTie)) continue;
    sum += measured[i];
    ++count;
  }
  return sum / count;
}

StepSweep SweepOf(const std::string& name, const StepGroup& group) {
  StepSweep out = {.name = name,
                   .source = group.front()->row.source,
                   .framework = group.front()->row.framework,
                   .rows = group.size()};
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const StepCase* each : group) {
    measured.push_back(each->row.measured / each->baselines.ideal);
    predicted.push_back(each->predicted.expected / each->baselines.ideal);
  }
  const auto [least, most] = std::minmax_element(measured.begin(), measured.end());
  out.spread = *most / *least - 1;
  out.spearman = SpearmanOf(measured, predicted);
  out.cost = CostOfFirst(measured, predicted) / *least - 1;
  const double of_best = predicted[static_cast<size_t>(least - measured.begin())];
  const double first = *std::min_element(predicted.begin(), predicted.end());
  out.best_ties = of_best <= first * (1 + kSearchTie);
  out.best_of_three = std::count_if(predicted.begin(), predicted.end(),
                                    [&](double other) { return other < of_best; }) < 3;
  return out;
}

double DistanceOf(const StepLayout& a, const StepLayout& b) {
  const std::pair<int64_t, int64_t> kSizes[] = {
      {a.tensor, b.tensor},   {a.stages, b.stages}, {a.context, b.context},
      {a.experts, b.experts}, {a.data, b.data},     {a.micro_batch, b.micro_batch}};
  double out = 0;
  for (const auto& [x, y] : kSizes) {
    out += std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  }
  return out;
}

std::string KindOf(const StepCase& each) {
  return absl::StrCat(each.row.family, " | ", each.row.hardware);
}

}  // namespace

std::vector<StepSweep> SweepsOf(const std::vector<StepCase>& cases) {
  std::vector<StepSweep> out;
  const StepGroup all = Where(cases, [](const StepCase& each) { return each.baselines.ideal > 0; });
  for (const auto& [name, group] :
       GroupsBy(all, [](const StepCase& each) { return each.row.sweep; })) {
    if (group.size() < kFewest) continue;
    StepSweep sweep = SweepOf(name, group);
    if (sweep.spread > kLeastSpread) out.push_back(std::move(sweep));
  }
  return out;
}

std::map<const StepCase*, double> NearStepsOf(const std::vector<StepCase>& cases,
                                              const std::map<const StepCase*, double>& generic) {
  std::map<const StepCase*, double> out;
  const StepGroup all = Where(cases, [&](const StepCase& each) { return generic.contains(&each); });
  for (const auto& [kind, group] : GroupsBy(all, KindOf)) {
    for (const StepCase* each : group) {
      const StepCase* near = nullptr;
      double least = 0;
      for (const StepCase* other : group) {
        if (other == each) continue;
        const double distance = DistanceOf(each->row.layout, other->row.layout);
        if (near != nullptr && distance >= least) continue;
        near = other;
        least = distance;
      }
      if (near == nullptr) continue;
      out[each] = generic.at(each) * near->row.measured / generic.at(near);
    }
  }
  return out;
}

}  // namespace sextant
