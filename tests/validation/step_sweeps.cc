#include "tests/validation/step_sweeps.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/validation/step_score.h"

namespace sextant {
namespace {

constexpr double kLeastSpread = 0.05;
constexpr double kTie = 1e-9;
constexpr double kSearchTie = 0.03;   // LayoutSearchResult.tie_ratio
constexpr double kUsualNoise = 0.02;  // of sources that repeat nothing
constexpr int kDraws = 200;
constexpr uint64_t kSeed = 1;
constexpr double kPi = 3.14159265358979323846;

std::string RequestOf(const StepCase& each) {
  return each.row.requests.empty() ? each.row.id : each.row.requests.front().SerializeAsString();
}
std::string FrameworkOf(const StepCase& each) { return each.row.framework; }

using StepNumber = double (*)(const StepCase& each);
double LogMeasured(const StepCase& each) { return std::log(each.row.measured); }
double LogError(const StepCase& each) { return std::log1p(each.Error()); }

double MeanOf(const StepGroup& group, StepNumber number) {
  double sum = 0;
  for (const StepCase* each : group) sum += number(*each);
  return sum / static_cast<double>(group.size());
}

double SquaresOf(const StepGroup& group, StepNumber number) {
  const double mean = MeanOf(group, number);
  double out = 0;
  for (const StepCase* each : group) out += std::pow(number(*each) - mean, 2);
  return out;
}

void SetErrorSpread(const StepGroup& group, StepSweep& out) {
  const auto count = static_cast<double>(group.size());
  const double all = SquaresOf(group, LogError);
  double of_requests = 0;
  double of_frameworks = 0;
  for (const auto& [name, rows] : GroupsBy(group, RequestOf)) {
    of_requests += SquaresOf(rows, LogError);
  }
  for (const auto& [name, rows] : GroupsBy(group, FrameworkOf)) {
    of_frameworks += SquaresOf(rows, LogError);
  }
  const auto spread = [count](double squares) { return std::sqrt(std::max(0.0, squares) / count); };
  out.error_spread = spread(all);
  out.noise = spread(of_requests);
  out.framework_spread = spread(all - of_frameworks);
  out.rest_spread = spread(of_frameworks - of_requests);
}

// The standard deviation of ln(measured) of rows of one request, of each source; times that are the
// same to the last digit are one time, printed again.
std::map<std::string, double> NoiseOf(const StepGroup& group) {
  std::map<std::string, double> out;
  for (const auto& [source, rows] :
       GroupsBy(group, [](const StepCase& each) { return each.row.source; })) {
    double squares = 0;
    double freedom = 0;
    for (auto& [name, same] : GroupsBy(rows, RequestOf)) {
      std::map<double, const StepCase*> times;
      for (const StepCase* each : same) times[each->row.measured] = each;
      StepGroup distinct;
      for (const auto& [time, each] : times) distinct.push_back(each);
      squares += SquaresOf(distinct, LogMeasured);
      freedom += static_cast<double>(distinct.size()) - 1;
    }
    out[source] = freedom > 0 ? std::sqrt(squares / freedom) : kUsualNoise;
  }
  return out;
}

// A standard normal number, the same on all machines. Source: Box and Muller 1958.
double NormalFrom(std::mt19937_64& random) {
  constexpr double kMost = 18446744073709551616.0;  // 2^64
  const double a = (static_cast<double>(random()) + 0.5) / kMost;
  const double b = static_cast<double>(random()) / kMost;
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * kPi * b);
}

double ReachableOf(const StepGroup& group, double noise) {
  std::map<const StepCase*, double> means;
  for (const auto& [name, rows] : GroupsBy(group, RequestOf)) {
    const double mean = std::exp(MeanOf(rows, LogMeasured));
    for (const StepCase* each : rows) means[each] = mean / each->baselines.ideal;
  }
  std::vector<double> known;
  for (const StepCase* each : group) known.push_back(means.at(each));
  std::mt19937_64 random(kSeed);
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> seen;
    for (const double mean : known) seen.push_back(mean * std::exp(noise * NormalFrom(random)));
    sum += SpearmanOf(seen, known);
  }
  return sum / kDraws;
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

}  // namespace

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

std::vector<StepSweep> SweepsOf(const std::vector<StepCase>& cases) {
  std::vector<StepSweep> out;
  const StepGroup all = Where(cases, [](const StepCase& each) { return each.baselines.ideal > 0; });
  const std::map<std::string, double> noise = NoiseOf(all);
  for (const auto& [name, group] :
       GroupsBy(all, [](const StepCase& each) { return each.row.sweep; })) {
    if (group.size() < kFewestOfSweep) continue;
    StepSweep sweep = SweepOf(name, group);
    if (sweep.spread <= kLeastSpread) continue;
    sweep.reachable = ReachableOf(group, noise.at(sweep.source));
    SetErrorSpread(group, sweep);
    out.push_back(std::move(sweep));
  }
  return out;
}

}  // namespace sextant
