// Runs that fit and runs that ran out, and their omissions and assumptions.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/run/memory_estimate.h"
#include "tests/validation/neighbours.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr Verdict kVerdicts[] = {Verdict::kFits, Verdict::kTight, Verdict::kDoesNotFit};

std::string NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "FITS";
    case Verdict::kTight:
      return "TIGHT";
    case Verdict::kDoesNotFit:
    case Verdict::kStateFits:  // of runs without a layout alone
      break;
  }
  return "DOES_NOT_FIT";
}

Verdict VerdictOn(const Answer& answer) {
  return VerdictOf(FitChance(answer.memory.process, *answer.run.device_memory), {});
}

std::string RunCells(const Answer& answer) {
  const BytesInterval& process = answer.memory.process;
  const std::string measured =
      answer.run.measured.empty() ? "ran out" : Gibibytes(answer.run.measured.front().size);
  return absl::StrCat("| ", answer.run.id, " | ", absl::StrJoin(SettingsOf(answer.run), ", "),
                      " | ", measured, " | ", Gibibytes(process.low), " to ",
                      Gibibytes(process.high), " | ", NameOf(VerdictOn(answer)), " |\n");
}

// A run that is predicted to fit but ran out, compared with a similar one that ran. Empty where the
// verdict is right, or no run is similar.
std::string SurpriseOf(const Answer& answer, const Answer& other) {
  if (VerdictOn(answer) != Verdict::kFits || other.run.measured.empty()) return "";
  const double ratio = static_cast<double>(answer.memory.total().value()) /
                       static_cast<double>(other.memory.total().value());
  return absl::StrCat("\n", answer.run.id, " ran out though it is said to fit: predicted ",
                      SignedPercent(ratio - 1), " beside ", other.run.id, ", which ran in ",
                      Gibibytes(other.run.measured.front().size),
                      " GiB. Where the two are as good ",
                      "as equal, what made it run out is not in the row.\n");
}

}  // namespace

std::string VerdictTable(const std::vector<Answer>& answers) {
  std::map<std::pair<std::string, bool>, std::map<Verdict, int>> counts;
  for (const Answer& answer : answers) {
    if (!answer.run.device_memory.has_value()) continue;
    ++counts[{answer.run.source, answer.run.ran_out}][VerdictOn(answer)];
  }
  std::string out =
      "| source | the job | FITS | TIGHT | DOES_NOT_FIT |\n| --- | --- | ---: | ---: | ---: |\n";
  for (auto& [key, of] : counts) {
    absl::StrAppend(&out, "| ", key.first, " | ", key.second ? "ran out of memory" : "ran", " |");
    for (const Verdict verdict : kVerdicts) absl::StrAppend(&out, " ", of[verdict], " |");
    absl::StrAppend(&out, "\n");
  }
  return out;
}

std::string OutOfMemoryTable(const std::vector<Answer>& answers) {
  std::string out =
      "| run | settings | measured GiB | process, predicted GiB | verdict |\n"
      "| --- | --- | ---: | ---: | --- |\n";
  std::string surprises;
  for (const Answer& answer : answers) {
    if (!answer.run.ran_out || !answer.run.device_memory.has_value()) continue;
    absl::StrAppend(&out, RunCells(answer));
    const Answer* other = NearestThatFits(answer, answers);
    if (other == nullptr) continue;
    absl::StrAppend(&out, RunCells(*other));
    absl::StrAppend(&surprises, SurpriseOf(answer, *other));
  }
  return out + surprises;
}

std::string LeftOutTable(const std::vector<RowLeftOut>& left_out) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const RowLeftOut& row : left_out) ++counts[{row.source, row.reason}];
  std::vector<std::pair<std::pair<std::string, std::string>, int>> rows(counts.begin(),
                                                                        counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first.first != b.first.first ? a.first.first < b.first.first : a.second > b.second;
  });
  std::string out = "| source | rows | why |\n| --- | ---: | --- |\n";
  for (const auto& [key, count] : rows) {
    absl::StrAppend(&out, "| ", key.first, " | ", count, " | ", key.second, " |\n");
  }
  return out;
}

std::string AssumptionTable(const std::vector<Answer>& answers) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const Answer& answer : answers) {
    for (const std::string& assumption : answer.run.assumptions) {
      ++counts[{answer.run.source, assumption}];
    }
  }
  std::string out = "| source | rows | what is assumed |\n| --- | ---: | --- |\n";
  for (const auto& [key, count] : counts) {
    absl::StrAppend(&out, "| ", key.first, " | ", count, " | ", key.second, " |\n");
  }
  return out;
}

}  // namespace sextant
