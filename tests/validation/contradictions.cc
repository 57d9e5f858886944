#include "tests/validation/contradictions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace sextant {
namespace {

constexpr double kFarOff = 0.10;
constexpr size_t kWithMajority = 3;  // figures of which one can be the odd one out

using Group = std::vector<Answer*>;

double FigureOf(const Answer& answer) {
  return static_cast<double>(answer.run.measured.front().size.value());
}

void Mark(Answer& answer) {
  answer.run.traits.insert(kContradicted);
  answer.run.assumptions.push_back(kContradicted);
}

void MarkIn(Group& group) {
  std::sort(group.begin(), group.end(),
            [](const Answer* a, const Answer* b) { return FigureOf(*a) < FigureOf(*b); });
  const double median = FigureOf(*group[(group.size() - 1) / 2]);
  const auto far = [&](const Answer& answer) {
    return std::abs(FigureOf(answer) / median - 1) > kFarOff;
  };
  if (group.size() < kWithMajority) {
    if (!far(*group.back())) return;
    for (Answer* answer : group) Mark(*answer);
    return;
  }
  for (Answer* answer : group) {
    if (far(*answer)) Mark(*answer);
  }
}

}  // namespace

void MarkContradicted(std::vector<Answer>& answers) {
  std::map<std::tuple<std::string, std::string, int64_t, int64_t>, Group> groups;
  for (Answer& answer : answers) {
    const MeasuredCase& run = answer.run;
    if (run.measured.empty() || run.hardware.empty()) continue;
    groups[{run.source, run.hardware, answer.stage, answer.memory.allocated.value()}].push_back(
        &answer);
  }
  for (auto& [question, group] : groups) {
    if (group.size() > 1) MarkIn(group);
  }
}

}  // namespace sextant
