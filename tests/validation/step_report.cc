#include "tests/validation/step_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/validation/step_score.h"
#include "tests/validation/step_sweeps.h"
#include "tests/validation/step_tables.h"
#include "tests/validation/step_transfer.h"

namespace sextant {
namespace {

constexpr size_t kWorst = 20;
constexpr char kGeneric[] = "generic";

constexpr char kTerms[] = R"(
Each row becomes a request to PlanningService.PlanRun, and nothing else. The answer's
`step_time.seconds.expected` is compared with the seconds of a step as published, or derived from
tokens a second, or from TFLOP/s where the source says by which formula. Error: predicted over
measured, less 1. p90: the 90th percentile of errors' sizes. A family is one model, its name
without size of cluster or date, on one framework, releases together, in one number format. One vote
a family: of the families' medians. Every row is in `accuracy-step-time.csv`.

- **Family left out**, the number that counts: each constant that was chosen in sight of measured
  runs is estimated again, from its neutral value, on the families of the other folds alone, by one
  procedure (coordinate descent over Huber's loss of ln(predicted / measured) up to 35 %, a family's
  rows weighing 1 / sqrt(their number), and a small penalty for leaving the neutral value). Families
  in alphabetical order are dealt out to the folds; of experts each model is a fold.
- **In sight**: with the stacks' own constants, which were chosen in sight of these rows.
- **Neutral constants**: nothing is estimated.
- **Unknown stack**: `layout.software.name` is "generic"; **and one measured step**: that, as the
  nearest other row of the same family and device corrects it.
- **Baselines**: 6 N + 12 L H Q T at 45 % of the datasheet's peak (experts are counted exactly); and
  all that is computed, recomputation included, at the datasheet's peak.
- **Recipes**: what NVIDIA's pages don't print and its recipe of the same release sets is the
  recipe's: kernels of attention and of the loss, recomputation, chunks of layers, how tokens reach
  their experts, graphs. `tests/validation/step_recipe.cc` has each rule with its file.
- **Something open**: the source doesn't publish a field that the time depends on. Where it says
  nothing about recomputation, the plan's verdict on memory decides whether there can be none;
  stacks that recompute nothing by default are then taken to do so. Other choices are a span, from
  the fastest to the slowest.
)";

constexpr char kTuning[] = R"(Scored apart: no constant was chosen in sight of these rows. No source
prints ranks or targets: LoRA is asked about as NVIDIA's recipes have it in their fastest settings,
on the product of query, key and value, of rank 8 (hidden size below 8,192) or 16. Their sequences
are several documents packed, between which attention is masked; a request's is one document, whose
attention is a fifth of a step of Llama 3 8B and a tenth of one of 70B.

)";

constexpr char kBudget[] = R"(
Of a perfect model: the Spearman that one would reach, on average, which knew the mean time of each
request, where rows scatter about it as the source's repeats do. Repeats: rows that become the same
request, from several releases or pages; of sources without any, 2 %. Sweeps below 0.85, and what
spreads their errors, standard deviations of ln(predicted / measured) whose squares add up: repeats
of one request (data, and releases), the frameworks' means (software), and the rest, which is of
layouts (kernels and exchanges):

)";

constexpr char kIntervals[] = R"(10th, 90th: percentiles of ln(measured / predicted without the
family), a family's rows weighing 1 / sqrt(their number); and of where that is between the centre of
the answer's interval and its ends, which are at -1 and 1: the classes' ends (docs/step_time.md) are
where these percentiles are. Where the service can leave open what is open (recomputation,
interleaving), the request does, and the interval is its answer's; else it is from the fastest
choice's low end to the slowest's high end. A measured step's interval is -7 to +7 %.

)";

constexpr char kTransfer[] = R"(Pairs of rows of one family and device with nothing open, of which
one is measured and the other predicted; one vote a family: of the medians of
|ln(measured / predicted)|. What the layouts share of the measured one's error falls with the
doublings between them (recomputation otherwise counts as 2): docs/step_time.md, "A measured step".
Covered: by -7 to +7 % up to 2 doublings, by the class's interval beyond.

)";

constexpr char kChoice[] = R"(
What the layout costs that is then predicted to be the fastest, over the fastest, less 1, of times
over those of the FLOPs at the peak: the mean over sweeps of four rows or more, and over each of
their rows being the measured one.

)";

void ForgetStack(v1::PlanRunRequest& request) {
  v1::SoftwareStack& software = *request.mutable_layout()->mutable_software();
  software.set_name(kGeneric);
  software.clear_attention_time_ratio();
}

std::map<const StepCase*, StepPrediction> GenericOf(const std::vector<StepCase>& cases,
                                                    StepAsker& asker) {
  std::map<const StepCase*, StepPrediction> out;
  for (const StepCase& each : cases) {
    StepRow row = each.row;
    row.stack = kGeneric;
    for (v1::PlanRunRequest& request : row.requests) ForgetStack(request);
    if (row.left_open.has_value()) ForgetStack(*row.left_open);
    absl::StatusOr<StepPrediction> predicted = asker.Ask(row, {});
    if (predicted.ok()) out[&each] = *std::move(predicted);
  }
  return out;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string LineOf(const StepCase& each) {
  std::vector<std::string> parts;
  for (const auto& [name, seconds] : each.predicted.parts) {
    parts.push_back(absl::StrFormat("%s %.4g", name, seconds));
  }
  return absl::StrFormat("%s | %s | %s | %s | %.5g | %.5g (%.5g, %.5g) | %+.1f %% | %s\n",
                         each.row.id, each.row.family, each.row.hardware,
                         ClassName(each.row.step_class()), each.row.measured,
                         each.predicted.expected, each.predicted.low, each.predicted.high,
                         100 * each.Error(), absl::StrJoin(parts, ", "));
}

}  // namespace

std::string TranslationText(const std::vector<CsvRow>& table) {
  StepRows rows = StepRowsOf(table);
  std::string out;
  for (StepRow& row : rows.rows) {
    const absl::Status closed = CloseRecomputation(row);
    absl::StrAppendFormat(&out, "%s | %s | %s | %s | %s | %d requests | %.5g s%s\n", row.id,
                          row.family, row.hardware, ClassName(row.step_class()),
                          absl::StrJoin(row.open, "; "), row.requests.size(), row.measured,
                          closed.ok() ? "" : absl::StrCat(" | ", closed.message()));
  }
  for (const StepLeftOut& row : rows.left_out) {
    absl::StrAppend(&out, row.id, " | left out: ", row.reason, "\n");
  }
  return out;
}

std::string RowsText(const std::vector<StepCase>& cases) {
  std::string out;
  for (const StepCase& each : cases) absl::StrAppend(&out, LineOf(each));
  return out;
}

StepResults StepResultsOf(const std::vector<CsvRow>& table) {
  StepAsker asker;
  StepResults out = {.rows = StepCasesOf(table, asker),
                     .tuned = StepCasesOf(table, asker, StepTask::kFineTuning)};
  out.folds = FoldsOf(out.rows.cases, asker);
  out.generic = GenericOf(out.rows.cases, asker);
  out.near_step = NearStepsOf(out.rows.cases, out.generic);
  return out;
}

std::string StepReport(const StepResults& results) {
  std::string out = absl::StrCat(
      "# How well the time of a step is predicted\n\nMade by `step_time_accuracy` from published "
      "runs; any file of the same columns does. ",
      results.rows.cases.size(), " rows are asked about, ", results.rows.left_out.size(),
      " are left out.\n", kTerms, "\n## Errors\nFamilies left out:\n\n", SummaryTable(results),
      "\nMedian / p90 %, by how the prediction is made:\n\n", OtherWaysTable(results));
  for (const char* column : {"source", "hardware", "framework", "format", "strategy"}) {
    absl::StrAppend(&out, "\n### By ", column, ", in sight\n", GroupTable(results, column));
  }
  absl::StrAppend(&out, "\n## Fine-tuning\n", kTuning, FineTuningTable(results.tuned.cases));
  absl::StrAppend(
      &out, "\n## Something open\nThe span of the choices' expected times:\n\n", OpenTable(results),
      "\n## Layouts in order\nRows of one source, model, device "
      "and number format (of BLOOM's trials: of one table), four or more whose measured "
      "times differ by over 5 %; times over those of the FLOPs at the peak. Cost: of the "
      "row that is predicted to be the fastest, over the fastest, less 1. Tie: as a search calls "
      "it, within 3 %.\n\n",
      SweepTable(results), kBudget, LowSweepTable(results), "\n## Intervals\n", kIntervals,
      BandTable(results), "\n## A step measured on another layout\n", kTransfer,
      TransferTable(results), kChoice, ChoiceTable(results), "\n## Constants\n",
      results.folds.dense_fold_count, " folds of dense families, ", results.folds.expert_fold_count,
      " of models of experts:\n\n", ConstantTable(results), "\n## The worst twenty\n",
      WorstStepTable(results, kWorst), "\n## Left out\n", StepLeftOutTable(results));
  return out;
}

std::string StepCsv(const StepResults& results) {
  std::string out =
      "id,source,family,hardware,class,open,devices,measured,predicted,low,high,span_low,span_high,"
      "left_out,generic,constant_mfu,roofline\n";
  for (const StepCase& each : results.rows.cases) {
    const auto left_out = results.folds.left_out.find(&each);
    const auto generic = results.generic.find(&each);
    absl::StrAppend(&out, each.row.id, ",", Quoted(each.row.source), ",", Quoted(each.row.family),
                    ",", Quoted(each.row.hardware), ",", Quoted(ClassName(each.row.step_class())),
                    ",", Quoted(absl::StrJoin(each.row.open, "; ")), ",", each.row.layout.devices);
    for (const double seconds :
         {each.row.measured, each.predicted.expected, each.predicted.low, each.predicted.high,
          each.predicted.span_low, each.predicted.span_high,
          left_out == results.folds.left_out.end() ? 0 : left_out->second.expected,
          generic == results.generic.end() ? 0 : generic->second.expected,
          each.baselines.constant_mfu, each.baselines.roofline}) {
      absl::StrAppend(&out, ",", absl::StrFormat("%.5g", seconds));
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

std::string FitText(const std::vector<CsvRow>& table) {
  StepAsker asker;
  const StepCases rows = StepCasesOf(table, asker);
  const std::vector<StepConstant> constants = StepConstants();
  StepFit fit(constants, asker);
  const std::vector<double> values = ValuesInSight(rows.cases, fit, constants);
  const StepGroup all = Where(rows.cases, [](const StepCase&) { return true; });
  std::string out;
  for (size_t i = 0; i < constants.size(); ++i) {
    absl::StrAppendFormat(&out, "%s = %.4g (neutral %.4g, %d families)\n", constants[i].name,
                          values[i], constants[i].neutral, fit.FamiliesFor(i, all));
  }
  const auto fitted = [&](const StepCase& each) -> absl::optional<double> {
    const auto predicted = fit.PredictionAt(each.row, values);
    if (!predicted.ok()) return absl::nullopt;
    return predicted->ErrorOf(each.row.measured);
  };
  for (const StepClass one :
       {StepClass::kWide, StepClass::kNarrow, StepClass::kOpen, StepClass::kExperts}) {
    const StepScore score = ScoreOf(
        Where(rows.cases, [one](const StepCase& each) { return each.row.step_class() == one; }),
        fitted);
    absl::StrAppendFormat(&out, "%s: %d rows, median %.1f %%, p90 %.1f %%, bias %+.1f %%\n",
                          ClassName(one), score.count, 100 * score.median, 100 * score.p90,
                          100 * score.bias);
  }
  absl::StrAppend(&out, asker.calls(), " calls\n");
  return out;
}

}  // namespace sextant
