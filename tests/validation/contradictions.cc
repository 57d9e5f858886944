#include "tests/validation/contradictions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace sextant {
namespace {

constexpr double kFarOff = 0.10;

using Group = std::vector<Answer*>;

double FigureOf(const Answer& answer) {
  return static_cast<double>(answer.run.measured.front().size.value());
}

void Mark(Answer& answer) {
  answer.run.traits.insert(kContradicted);
  answer.run.assumptions.push_back(kContradicted);
}

void MarkIn(const Group& group) {
  const auto [least, most] = std::minmax_element(
      group.begin(), group.end(),
      [](const Answer* a, const Answer* b) { return FigureOf(*a) < FigureOf(*b); });
  if (FigureOf(**most) <= (1 + kFarOff) * FigureOf(**least)) return;
  for (Answer* answer : group) Mark(*answer);
}

}  // namespace

void MarkContradicted(std::vector<Answer>& answers) {
  std::map<std::tuple<std::string, std::string, int64_t, int64_t>, Group> groups;
  for (Answer& answer : answers) {
    const MeasuredCase& run = answer.run;
    if (run.measured.empty() || run.hardware.empty()) continue;
    groups[{run.source, run.hardware, answer.stage, answer.memory.allocated.expected.value()}]
        .push_back(&answer);
  }
  for (auto& [question, group] : groups) {
    MarkIn(group);
  }
}

}  // namespace sextant
