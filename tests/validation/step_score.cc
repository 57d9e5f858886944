#include "tests/validation/step_score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/validation/error_summary.h"

namespace sextant {
namespace {

StepScore ScoreOfErrors(std::vector<double> errors) {
  StepScore out;
  if (errors.empty()) return out;
  out.count = static_cast<int64_t>(errors.size());
  std::sort(errors.begin(), errors.end());
  out.bias = QuantileOf(errors, 0.5);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  out.median = QuantileOf(errors, 0.5);
  out.p90 = QuantileOf(errors, 0.9);
  const auto share = [&](double limit) {
    const auto within = std::upper_bound(errors.begin(), errors.end(), limit) - errors.begin();
    return static_cast<double>(within) / static_cast<double>(out.count);
  };
  out.within_10 = share(0.1);
  out.within_20 = share(0.2);
  return out;
}

std::map<std::string, std::vector<double>> ByFamily(const StepGroup& group,
                                                    const StepError& error) {
  std::map<std::string, std::vector<double>> out;
  for (const StepCase* each : group) {
    const auto value = error(*each);
    if (value.has_value()) out[each->row.family].push_back(*value);
  }
  return out;
}

// Ranks from 0; equal values share the mean of theirs.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double mean = static_cast<double>(i + end - 1) / 2;
    for (; i < end; ++i) out[order[i]] = mean;
  }
  return out;
}

}  // namespace

StepScore ScoreOf(const StepGroup& group, const StepError& error) {
  std::vector<double> errors;
  for (const StepCase* each : group) {
    const auto value = error(*each);
    if (value.has_value()) errors.push_back(*value);
  }
  return ScoreOfErrors(std::move(errors));
}

StepScore FamilyScoreOf(const StepGroup& group, const StepError& error) {
  std::vector<double> sizes;
  std::vector<double> biases;
  for (auto& [family, errors] : ByFamily(group, error)) {
    const StepScore score = ScoreOfErrors(errors);
    sizes.push_back(score.median);
    biases.push_back(score.bias);
  }
  StepScore out = ScoreOfErrors(sizes);
  out.bias = ScoreOfErrors(biases).bias;
  return out;
}

double WeightedQuantile(std::vector<WeightedValue> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end(),
            [](const WeightedValue& a, const WeightedValue& b) { return a.value < b.value; });
  double total = 0;
  for (const WeightedValue& each : values) total += each.weight;
  double below = 0;
  for (const WeightedValue& each : values) {
    below += each.weight;
    if (below >= share * total - 1e-12) return each.value;
  }
  return values.back().value;
}

StepBand BandOf(const StepGroup& group, const StepError& error) {
  StepBand out;
  std::vector<WeightedValue> values;
  for (const auto& [family, errors] : ByFamily(group, error)) {
    ++out.families;
    const double weight = 1 / std::sqrt(static_cast<double>(errors.size()));
    for (const double each : errors) values.push_back({-std::log1p(each), weight});
  }
  out.rows = static_cast<int64_t>(values.size());
  out.low = WeightedQuantile(values, 0.1);
  out.high = WeightedQuantile(values, 0.9);
  return out;
}

double SpearmanOf(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || a.size() != b.size()) return 0;
  const std::vector<double> x = RanksOf(a);
  const std::vector<double> y = RanksOf(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double both = 0, of_x = 0, of_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x == 0 || of_y == 0 ? 0 : both / std::sqrt(of_x * of_y);
}

}  // namespace sextant
