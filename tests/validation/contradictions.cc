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
  // Sequences of other lengths, cut by context parallelism, may well have the same answer.
  using Question = std::tuple<std::string, std::string, int64_t, int64_t, double>;
  std::map<Question, Group> groups;
  for (Answer& answer : answers) {
    const MeasuredCase& run = answer.run;
    if (run.measured.empty() || run.hardware.empty()) continue;
    const int64_t length = run.all_fields.training().sequence_length();
    const double bytes = answer.all_fields.Of(MemoryDefinition::kAllocated).expected();
    groups[{run.source, run.hardware, length, answer.all_fields.stage, bytes}].push_back(&answer);
  }
  for (auto& [question, group] : groups) {
    MarkIn(group);
  }
}

}  // namespace sextant
