// Runs that fit and runs that ran out, and their omissions and assumptions.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tests/validation/neighbours.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr v1::Verdict kVerdicts[] = {v1::VERDICT_FITS, v1::VERDICT_TIGHT, v1::VERDICT_DOES_NOT_FIT};

std::string NameOf(v1::Verdict verdict) {
  return std::string(absl::StripPrefix(v1::Verdict_Name(verdict), "VERDICT_"));
}

// False for figures that nothing ran for.
bool HasRun(const Answer& answer) {
  return answer.run.ran_out ||
         (!answer.run.measured.empty() &&
          answer.run.measured.front().definition != MemoryDefinition::kCalculated);
}

std::string RunCells(const Answer& answer) {
  const Prediction& prediction = answer.all_fields;
  const v1::Interval process = prediction.Of(MemoryDefinition::kProcess);
  const std::string measured =
      answer.run.measured.empty() ? "ran out" : Gibibytes(answer.run.measured.front().size);
  return absl::StrCat("| ", answer.run.id, " | ", absl::StrJoin(SettingsOf(answer.run), ", "),
                      " | ", measured, " | ", Gibibytes(process.low()), " to ",
                      Gibibytes(process.high()), " | ",
                      absl::StrFormat("%.0f %%", 100 * prediction.fit_chance), " | ",
                      NameOf(prediction.verdict), " |\n");
}

using ReasonCounts = std::map<std::pair<std::string, std::string>, int>;

// Reasons of each source, the most frequent first.
std::string ReasonTable(const ReasonCounts& counts) {
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

// A run that is predicted to fit but ran out, compared with a similar one that ran. Empty where the
// verdict is right, or no run is similar.
std::string SurpriseOf(const Answer& answer, const Answer& other) {
  if (answer.all_fields.verdict != v1::VERDICT_FITS || other.run.measured.empty()) return "";
  const auto process = [](const Answer& of) {
    return of.all_fields.Of(MemoryDefinition::kProcess).expected();
  };
  return absl::StrCat("\n", answer.run.id, " ran out but is predicted to fit. The prediction is ",
                      SignedPercent(process(answer) / process(other) - 1), " from that of ",
                      other.run.id, ", which ran in ", Gibibytes(other.run.measured.front().size),
                      " GiB. Where the two predictions are as good as equal, the row lacks what ",
                      "made it run out.\n");
}

}  // namespace

std::string VerdictTable(const std::vector<Answer>& answers) {
  std::map<std::tuple<std::string, RequestKind, bool>, std::map<v1::Verdict, int>> counts;
  for (const Answer& answer : answers) {
    if (!HasRun(answer)) continue;
    for (const RequestKind request : {RequestKind::kAllFields, RequestKind::kDefaults}) {
      const Prediction* prediction = answer.Of(request);
      if (prediction == nullptr) continue;
      ++counts[{answer.run.source, request, answer.run.ran_out}][prediction->verdict];
    }
  }
  std::string out =
      "| source | request | the job | FITS | TIGHT | DOES_NOT_FIT |\n"
      "| --- | --- | --- | ---: | ---: | ---: |\n";
  for (auto& [key, of] : counts) {
    const auto& [source, request, ran_out] = key;
    absl::StrAppend(&out, "| ", source, " | ", RequestName(request), " | ",
                    ran_out ? "ran out of memory" : "ran", " |");
    for (const v1::Verdict verdict : kVerdicts) absl::StrAppend(&out, " ", of[verdict], " |");
    absl::StrAppend(&out, "\n");
  }
  return out;
}

std::string OutOfMemoryTable(const std::vector<Answer>& answers) {
  std::string out =
      "| run | settings | measured GiB | process, predicted GiB | chance | verdict |\n"
      "| --- | --- | ---: | ---: | ---: | --- |\n";
  std::string surprises;
  for (const Answer& answer : answers) {
    if (!answer.run.ran_out) continue;
    absl::StrAppend(&out, RunCells(answer));
    const Answer* other = NearestThatFits(answer, answers);
    if (other == nullptr) continue;
    absl::StrAppend(&out, RunCells(*other));
    absl::StrAppend(&surprises, SurpriseOf(answer, *other));
  }
  return out + surprises;
}

std::string LeftOutTable(const Answers& answers) {
  ReasonCounts counts;
  for (const RowLeftOut& row : answers.left_out) ++counts[{row.source, row.reason}];
  const std::string out = ReasonTable(counts);
  counts.clear();
  for (const Answer& answer : answers.answered) {
    if (!answer.defaults_refused.empty()) ++counts[{answer.run.source, answer.defaults_refused}];
  }
  if (counts.empty()) return out;
  return absl::StrCat(out, "\nRequests with the framework's defaults that the service refuses:\n\n",
                      ReasonTable(counts));
}

std::string AssumptionTable(const std::vector<Answer>& answers) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const Answer& answer : answers) {
    for (const std::string& assumption : answer.run.assumptions) {
      ++counts[{answer.run.source, assumption}];
    }
  }
  std::string out = "| source | rows | assumed |\n| --- | ---: | --- |\n";
  for (const auto& [key, count] : counts) {
    absl::StrAppend(&out, "| ", key.first, " | ", count, " | ", key.second, " |\n");
  }
  return out;
}

}  // namespace sextant
