#include "tests/validation/step_transfer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/step_score.h"
#include "tests/validation/step_sweeps.h"
#include "tests/validation/step_table_parts.h"

namespace sextant {
namespace {

constexpr double kNearDoublings = 2;
constexpr double kFarthest = 16;  // likewise

using Predictions = std::map<const StepCase*, StepPrediction>;

std::string KindOf(const StepCase& each) {
  return absl::StrCat(each.row.family, " | ", each.row.hardware);
}

// ln(measured / predicted).
double ErrorOf(const StepCase& each, const Predictions& predictions) {
  return std::log(each.row.measured / predictions.at(&each).expected);
}

// The share of a measured step's error that is taken to be another layout's, by their distance.
using Sharing = std::function<double(double)>;
double ShareNone(double) { return 0; }
double ShareAll(double) { return 1; }
double ShareUpToFour(double distance) { return distance <= 4 ? 1 : 0; }
double ShareByDistance(double distance) { return std::max(0.0, 1 - distance / kFarthest); }

// A step that was predicted with another one's error.
struct Corrected {
  double error = 0;  // ln(measured / predicted)
  bool covered = false;
};

Corrected Correct(const StepCase& each, const StepCase& measured, const Predictions& predictions,
                  const Sharing& sharing) {
  const double distance = DistanceOf(each.row, measured.row);
  const double correction = sharing(distance) * ErrorOf(measured, predictions);
  Corrected out = {.error = ErrorOf(each, predictions) - correction};
  const StepPrediction& one = predictions.at(&each);
  const bool near = distance <= kNearDoublings;
  const double low = near ? -kMeasuredEnd : std::log(one.low / one.expected);
  const double high = near ? kMeasuredEnd : std::log(one.high / one.expected);
  out.covered = low <= out.error && out.error <= high;
  return out;
}

// Pairs of cases, by kind.
using Pairs = std::map<std::string, std::vector<std::pair<const StepCase*, const StepCase*>>>;

// Those at a distance above `from`, up to `to`, with nothing open.
Pairs PairsAt(double from, double to, const StepResults& results, const Predictions& predictions) {
  const StepGroup closed = Where(results.rows.cases, [&](const StepCase& each) {
    return each.row.open.empty() && predictions.contains(&each);
  });
  Pairs out;
  for (const auto& [kind, group] : GroupsBy(closed, KindOf)) {
    for (const StepCase* each : group) {
      for (const StepCase* other : group) {
        if (each == other) continue;
        const double distance = DistanceOf(each->row, other->row);
        if (distance > from && distance <= to) out[kind].emplace_back(each, other);
      }
    }
  }
  return out;
}

double MedianOf(std::vector<double> values) {
  std::vector<WeightedValue> weighted;
  for (const double value : values) weighted.push_back({value});
  return WeightedQuantile(std::move(weighted), 0.5);
}

// One vote a kind: of the medians of sizes.
double MedianError(const Pairs& pairs, const Predictions& predictions, const Sharing& sharing) {
  std::vector<double> medians;
  for (const auto& [kind, of_kind] : pairs) {
    std::vector<double> errors;
    for (const auto& [each, measured] : of_kind) {
      errors.push_back(std::abs(Correct(*each, *measured, predictions, sharing).error));
    }
    medians.push_back(MedianOf(std::move(errors)));
  }
  return MedianOf(std::move(medians));
}

// One vote a kind.
double Coverage(const Pairs& pairs, const Predictions& predictions) {
  double sum = 0;
  for (const auto& [kind, of_kind] : pairs) {
    double covered = 0;
    for (const auto& [each, measured] : of_kind) {
      covered += Correct(*each, *measured, predictions, ShareByDistance).covered ? 1 : 0;
    }
    sum += covered / static_cast<double>(of_kind.size());
  }
  return pairs.empty() ? 0 : sum / static_cast<double>(pairs.size());
}

// The mean, over each of `group` being the measured one, of what the first choice costs. Times are
// over those of the rows' FLOPs at the peak.
double CostOf(const StepGroup& group, const Predictions& predictions, const Sharing& sharing) {
  std::vector<double> measured;
  for (const StepCase* each : group) {
    measured.push_back(each->row.measured / each->baselines.ideal);
  }
  const double best = *std::min_element(measured.begin(), measured.end());
  double sum = 0;
  for (const StepCase* known : group) {
    std::vector<double> predicted;
    for (const StepCase* each : group) {
      const double share = each == known ? 1 : sharing(DistanceOf(each->row, known->row));
      predicted.push_back(predictions.at(each).expected / each->baselines.ideal *
                          std::exp(share * ErrorOf(*known, predictions)));
    }
    sum += CostOfFirst(measured, predicted) / best - 1;
  }
  return sum / static_cast<double>(group.size());
}

// The predictions that the tables tell of.
std::array<std::pair<const char*, const Predictions*>, 2> WaysOf(const StepResults& results) {
  return {{{"family left out", &results.folds.left_out}, {"unknown stack", &results.generic}}};
}

}  // namespace

double DistanceOf(const StepRow& one, const StepRow& other) {
  const StepLayout& a = one.layout;
  const StepLayout& b = other.layout;
  const std::pair<int64_t, int64_t> kSizes[] = {
      {a.tensor, b.tensor},          {a.stages, b.stages},   {a.chunks, b.chunks},
      {a.context, b.context},        {a.experts, b.experts}, {a.data, b.data},
      {a.micro_batch, b.micro_batch}};
  double out = 0;
  for (const auto& [x, y] : kSizes) {
    out += std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  }
  const auto recompute = [](const StepRow& row) {
    return row.requests.empty() ? v1::RECOMPUTE_POLICY_UNSPECIFIED
                                : row.requests.front().training().recompute();
  };
  return out + (recompute(one) != recompute(other) ? 2 : 0);
}

std::map<const StepCase*, double> NearStepsOf(
    const std::vector<StepCase>& cases, const std::map<const StepCase*, StepPrediction>& generic) {
  std::map<const StepCase*, double> out;
  const StepGroup all = Where(cases, [&](const StepCase& each) { return generic.contains(&each); });
  for (const auto& [kind, group] : GroupsBy(all, KindOf)) {
    for (const StepCase* each : group) {
      const StepCase* near = nullptr;
      double least = 0;
      for (const StepCase* other : group) {
        if (other == each) continue;
        const double distance = DistanceOf(each->row, other->row);
        if (near != nullptr && distance >= least) continue;
        near = other;
        least = distance;
      }
      if (near == nullptr) continue;
      out[each] =
          generic.at(each).expected * std::exp(ShareByDistance(least) * ErrorOf(*near, generic));
    }
  }
  return out;
}

std::string TransferTable(const StepResults& results) {
  std::string out =
      "| predicted | doublings | families | pairs | alone % | with the whole error % | with its "
      "share % | covered % |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  constexpr std::array<std::pair<double, double>, 4> kBands = {
      {{-1, kNearDoublings}, {kNearDoublings, 4}, {4, 8}, {8, 16}}};
  for (const auto& [name, predictions] : WaysOf(results)) {
    for (const auto& [from, to] : kBands) {
      const Pairs pairs = PairsAt(from, to, results, *predictions);
      size_t count = 0;
      for (const auto& [kind, of_kind] : pairs) count += of_kind.size();
      absl::StrAppendFormat(&out, "| %s | up to %.0f | %d | %d | %s | %s | %s | %s |\n", name, to,
                            pairs.size(), count, Share(MedianError(pairs, *predictions, ShareNone)),
                            Share(MedianError(pairs, *predictions, ShareAll)),
                            Share(MedianError(pairs, *predictions, ShareByDistance)),
                            Whole(Coverage(pairs, *predictions)));
    }
  }
  return out;
}

std::string ChoiceTable(const StepResults& results) {
  std::string out =
      "| predicted | sweeps | alone % | whole error up to 4 doublings % | whole error % | "
      "its share % |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [name, predictions] : WaysOf(results)) {
    const Predictions& of = *predictions;
    const StepGroup closed = Where(results.rows.cases, [&of](const StepCase& each) {
      return each.row.open.empty() && of.contains(&each) && each.baselines.ideal > 0;
    });
    std::array<double, 4> costs = {};
    int64_t sweeps = 0;
    for (const auto& [sweep, group] :
         GroupsBy(closed, [](const StepCase& each) { return each.row.sweep; })) {
      if (group.size() < kFewestOfSweep) continue;
      ++sweeps;
      const Sharing kSharings[] = {ShareNone, ShareUpToFour, ShareAll, ShareByDistance};
      for (size_t i = 0; i < costs.size(); ++i) costs[i] += CostOf(group, of, kSharings[i]);
    }
    absl::StrAppendFormat(&out, "| %s | %d |", name, sweeps);
    for (const double cost : costs) {
      absl::StrAppend(&out, " ", Share(cost / static_cast<double>(std::max<int64_t>(sweeps, 1))),
                      " |");
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace sextant
