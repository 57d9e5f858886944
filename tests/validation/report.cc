#include "tests/validation/report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/validation/error_summary.h"
#include "tests/validation/report_tables.h"

namespace sextant {
namespace {

constexpr size_t kWorst = 10;

constexpr char kTerms[] = R"(## What is compared
A row becomes a question: a model, a job, and whose GPU was read. The answer is the ledger of that
stage, else of the fullest ([memory.md](memory.md)). Figures of different definitions are never in
one statistic:

| definition | measured | compared with |
| --- | --- | --- |
| allocated | the most that PyTorch's allocator had handed out | what is counted, and workspaces |
| reserved | the most that it had taken from the driver | the same and the expected cache |
| process | what nvidia-smi shows | the same, context and communicators, as expected |
| calculated | the source's own formula, no measurement | matrices and activations of layers |

**Fully known**: the source prints all that the answer depends on, in the row or in a launcher that
the translator names; nothing is assumed; and no other run of the source that is the same question
on the same hardware is more than 10 % away.

Errors are signed: predicted over measured, less 1. Constants of frameworks (workspaces, buckets,
placeholders) are from their sources, never fitted.

**What is a hold-out.** Which mechanisms the ledger has was found by looking at residuals of the
Megatron-LM CI rows; constants come from source code and no number was fitted to a row, but these
rows are no hold-out. Others were kept apart until the ledger stood. Then SimuMax's allocated
figures showed that the empty gradient of the output head was missing (median 2.20 % before, the
head's gradient in Megatron-LM's source behind it), and BLOOM's that DeepSpeed's bf16 optimizer
keeps gradients in bf16 too, and torchtitan's that FSDP2 under a pipeline keeps whole weights and
gradients. Since then they are no hold-outs either, in the strict sense. SimuMax's reserved figures
never were one: the share of cache that the ledger expects is the median of those very rows.
So is the spread of what the ledger doesn't count, in the intervals of verdicts, that of the errors
below.
)";

constexpr char kBetweenSteps[] = R"(
## Model state alone
Megatron-LM also logs what is allocated after a step: model state and workspaces, without
activations. Rows in bf16 without pipeline parallelism, where nothing else stays (in fp16 a copy of
gradients in fp32 does, which is gone by the peak):

)";

constexpr char kCauses[] = R"(
## What is off, and why
Causes hold for all rows of a kind: a predicate on how the row was translated, in
`tests/validation/causes.cc`. Figures more than 3 % off:

)";

constexpr char kOutOfMemory[] = R"(
## Out of memory
Verdicts of runs whose GPU is known: `FITS` where the high end of the process's interval does,
`DOES_NOT_FIT` where not even its low end does.

)";

constexpr char kNeighbours[] = R"(
Each run that ran out, and below it the one that ran with the fewest settings other:

)";

std::vector<ScoredFigure> KnownOf(const std::vector<ScoredFigure>& figures) {
  std::vector<ScoredFigure> out;
  std::copy_if(figures.begin(), figures.end(), std::back_inserter(out),
               [](const ScoredFigure& figure) { return figure.answer->run.fully_known(); });
  return out;
}

// The ledger's residual for allocated, fully known figures: memory that it leaves out or counts too
// much.
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
                      ". Measured over predicted, less 1, is what no row of a ledger has: ",
                      SignedPercent(uncounted.low), " to ", SignedPercent(uncounted.high),
                      ", median ", SignedPercent(uncounted.median_signed), ".\n");
}

}  // namespace

std::string ReportOf(const Answers& answers, const std::string& command) {
  const std::vector<ScoredFigure> figures = FiguresOf(answers.answered);
  const std::vector<ScoredFigure> known = KnownOf(figures);
  std::string out =
      absl::StrCat("# How well memory is predicted\n\nMade by\n\n    ", command,
                   "\n\nfrom published runs; any files of the same columns do. ",
                   answers.answered.size(), " rows are asked about, ", answers.left_out.size(),
                   " left out.\n\n", kTerms, "\n## Errors\n", ErrorTable(figures));
  absl::StrAppend(&out, ResidualOf(known), kBetweenSteps, BetweenStepsTable(answers.answered));
  absl::StrAppend(&out, kCauses, CauseTable(figures), "\n## The worst ten\nOf all:\n\n",
                  WorstTable(figures, kWorst), "\nOf those fully known:\n\n",
                  WorstTable(known, kWorst));
  absl::StrAppend(&out, kOutOfMemory, VerdictTable(answers.answered), kNeighbours,
                  OutOfMemoryTable(answers.answered));
  absl::StrAppend(&out, "\n## Left out\n", LeftOutTable(answers.left_out),
                  "\n## What is assumed\nRows that are not fully known, by what is assumed:\n\n",
                  AssumptionTable(answers.answered));
  return out;
}

}  // namespace sextant
