#include "tests/validation/report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/validation/error_summary.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr size_t kWorst = 10;

constexpr char kTerms[] = R"(## The comparison
Each row becomes two requests to PlanningService.PlanRun and nothing else. The answers come from the
code that the server runs, so a user who sends the same request gets the same figures.

- **All fields given**: every field that the source publishes, the framework's settings included.
- **Defaults of the framework**: the framework's kind, but none of the fields that a framework
  decides. These are number formats other than the one computed in, padding of the vocabulary, the
  loss's kernel, copies of attention's output, fusion of experts' activations, gathered weights
  after the forward pass, and the framework's other settings.

A figure is compared with the stage whose GPU was read. Where the source doesn't say which, that is
the fullest stage ([memory.md](memory.md)). Figures of different definitions are never in one
statistic:

| definition | measured | compared with |
| --- | --- | --- |
| allocated | the most that PyTorch's allocator had handed out | allocated_bytes |
| reserved | the most that it had taken from the driver | reserved_bytes |
| process | the process's memory in nvidia-smi | process_bytes |
| calculated | the source's own formula, no measurement | layers' matrices and activations |

A row is **fully known** if two conditions hold. First, the source publishes everything that the
answer depends on, in the row or in a launcher that the translator names. (Of experts that several
ranks share, no source publishes how many tokens each rank takes.) Second, no other run of
the source asks the same question on the same hardware with a figure more than 10 % away.

Errors are signed: predicted over measured, less 1. The tables of causes, of the worst errors and of
model state are of the requests with all fields given.

**No source is a hold-out.** Megatron-LM CI's errors showed which mechanisms the ledger needs. Later
SimuMax's allocated figures showed that the output head's placeholder gradient was missing, BLOOM's
that DeepSpeed's bf16 optimizer keeps gradients in bf16 too, and torchtitan's that FSDP2 under a
pipeline keeps whole weights and gradients. The constants of frameworks come from their source code.
Three shares are fitted to rows below: the allocator's cache is the median of SimuMax's reserved
figures, and the spreads of uncounted memory of Megatron-LM and DeepSpeed are those of the errors
below.
)";

constexpr char kCoverage[] = R"(
## Intervals
An interval should hold 80 % of the figures, with 10 % below it and 10 % above. For the last column
an interval is made for each series of runs from the figures of all other series, and the figures of
the series left out are counted. It runs from the 10th to the 90th percentile of measured over
expected; DeepSpeed's from the 5th to the 95th, since all of its figures are of one project. A
series is a test case without its hardware and release, or a table of the source. Fewer than 20
figures prove nothing:

)";

constexpr char kBetweenSteps[] = R"(
## Model state alone
Megatron-LM also logs the memory allocated after a step: model state and workspaces, without
activations. The rows are those in bf16 without pipeline parallelism. (In fp16 a copy of gradients
in fp32 stays after the step, and is freed before the peak.)

)";

constexpr char kCauses[] = R"(
## Causes of errors
A cause holds for all rows of a kind, by a predicate on the translated row in
`tests/validation/causes.cc`. Figures more than 3 % off:

)";

constexpr char kVerdicts[] = R"(
## Verdicts
The plan's own verdict on the row's device:

)";

constexpr char kNeighbours[] = R"(
Each run that ran out of memory, followed by the run that differs from it in the fewest settings and
did not:

)";

constexpr char kOpen[] = R"(
## Rows that lack a field
These rows lack a field that the answer depends on. One request is sent for each possible value, or
for the smallest and the largest. The prediction goes from the lowest end of their intervals to the
highest:

)";

constexpr char kContradictions[] = R"(
## Rows that contradict one another
The source of these rows contradicts itself:

)";

std::vector<ScoredFigure> KnownOf(const std::vector<ScoredFigure>& figures) {
  std::vector<ScoredFigure> out;
  std::copy_if(figures.begin(), figures.end(), std::back_inserter(out),
               [](const ScoredFigure& figure) { return figure.answer->run.fully_known(); });
  return out;
}

// The ledger's residual for allocated, fully known figures: memory that it leaves out, or counts
// too often.
std::string ResidualOf(const std::vector<ScoredFigure>& known) {
  std::vector<double> errors;
  std::vector<double> beyond;
  for (const ScoredFigure& figure : known) {
    if (figure.measured.definition != MemoryDefinition::kAllocated) continue;
    errors.push_back(figure.error);
    beyond.push_back(1 / (1 + figure.error) - 1);
  }
  const ErrorSummary summary = SummaryOf(errors);
  const ErrorSummary uncounted = SummaryOf(beyond);
  if (summary.count == 0) return "";
  return absl::StrCat("\nOf the ", summary.count,
                      " fully known allocated figures together: median of sizes ",
                      Percent(summary.median), ", 10th to 90th percentile ",
                      SignedPercent(summary.low), " to ", SignedPercent(summary.high),
                      ". Measured over predicted, less 1, is the share that no ledger row has: ",
                      SignedPercent(uncounted.low), " to ", SignedPercent(uncounted.high),
                      ", median ", SignedPercent(uncounted.median_signed), ".\n");
}

}  // namespace

std::string ReportOf(const Answers& answers, const std::string& command) {
  const std::vector<Answer>& answered = answers.answered;
  const std::vector<ScoredFigure> figures = FiguresOf(answered, RequestKind::kAllFields);
  const std::vector<ScoredFigure> known = KnownOf(figures);
  std::vector<ScoredFigure> both = FiguresOf(answered, RequestKind::kDefaults);
  both.insert(both.begin(), figures.begin(), figures.end());
  std::string out =
      absl::StrCat("# How well memory is predicted\n\nMade by\n\n    ", command,
                   "\n\nfrom published runs; any files of the same columns do. ", answered.size(),
                   " rows are asked about, ", answers.open.size(),
                   " lack a field and are asked about as ranges, ", answers.left_out.size(),
                   " are left out.\n\n", kTerms, "\n## Errors\n", ErrorTable(both));
  absl::StrAppend(&out, ResidualOf(known), kCoverage,
                  CoverageTable(FigureLinesOf(answers.answered)), kBetweenSteps,
                  BetweenStepsTable(answered));
  absl::StrAppend(&out, kCauses, CauseTable(figures), "\n## The worst ten\nOf all:\n\n",
                  WorstTable(figures, kWorst), "\nOf those fully known:\n\n",
                  WorstTable(known, kWorst));
  absl::StrAppend(&out, kVerdicts, VerdictTable(answered), kNeighbours, OutOfMemoryTable(answered));
  absl::StrAppend(&out, kOpen, OpenTable(answers.open), kContradictions, ContradictionList(answers),
                  "\n## Left out\n", LeftOutTable(answers));
  absl::StrAppend(&out, "\n## Assumptions\nRows that are not fully known, by assumption:\n\n",
                  AssumptionTable(answered));
  return out;
}

}  // namespace sextant
