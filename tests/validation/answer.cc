#include "tests/validation/answer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/memory/ledger/memory_model.h"
#include "tests/validation/cells.h"
#include "tests/validation/contradictions.h"
#include "tests/validation/measured_row.h"
#include "tests/validation/megatron_row.h"

namespace sextant {
namespace {

bool IsOfMatricesOfLayers(const LedgerRow& row) {
  switch (row.kind) {
    case LedgerKind::kWeight:
    case LedgerKind::kGradient:
    case LedgerKind::kMasterWeight:
    case LedgerKind::kOptimizerState:
      return row.layer_kind >= 0 && row.dimensions[1] > 0;
    case LedgerKind::kActivation:
      return row.layer_kind >= 0;
    default:
      return false;
  }
}

absl::StatusOr<Bytes> CalculatedOf(const MemoryModel& model, int64_t stage) {
  LedgerRows rows;
  SEXTANT_RETURN_IF_ERROR(model.Stage(stage, &rows).status());
  Bytes out = Bytes(0);
  for (const LedgerRow& row : rows) {
    if (IsOfMatricesOfLayers(row)) out = out + row.size;
  }
  return out;
}

// The peak of the stage that was measured; else of the fullest one.
absl::StatusOr<StagePeak> PeakOf(const MeasuredCase& run, const MemoryModel& model) {
  if (!run.stage.has_value()) return model.Peak();
  SEXTANT_ASSIGN_OR_RETURN(const StageMemory memory, model.Stage(*run.stage));
  return StagePeak{.stage = *run.stage, .memory = memory};
}

// In the head's backward pass the ledger has the gathered input as it is made. It is in a buffer of
// the workspace that is there at all moments: then it has been counted twice. Another moment, which
// has the buffer, may then be the peak: it has no more than the buffer's size above what is said.
absl::StatusOr<StagePeak> WithoutHeadBuffer(const MeasuredCase& run) {
  MemoryJob job = run.job;
  job.reserve.workspace = job.reserve.workspace - run.head_buffer;
  SEXTANT_ASSIGN_OR_RETURN(const MemoryModel model, MemoryModel::Of(run.model, std::move(job)));
  return PeakOf(run, model);
}

bool IsCalculated(const MeasuredCase& run) {
  return std::any_of(run.measured.begin(), run.measured.end(),
                     [](const MeasuredMemory& measurement) {
                       return measurement.definition == MemoryDefinition::kCalculated;
                     });
}

void Take(Translated translated, const std::string& source, Answers& out) {
  if (auto* left_out = std::get_if<LeftOut>(&translated)) {
    out.left_out.push_back({source, std::move(left_out->reason)});
    return;
  }
  absl::StatusOr<Answer> answer = AnswerOf(std::get<MeasuredCase>(std::move(translated)));
  if (answer.ok()) {
    out.answered.push_back(*std::move(answer));
  } else {
    out.left_out.push_back(
        {source, absl::StrCat("the engine refuses it: ", answer.status().message())});
  }
}

}  // namespace

Bytes Answer::Predicted(MemoryDefinition definition) const {
  switch (definition) {
    case MemoryDefinition::kAllocated:
      return memory.allocated.expected;
    case MemoryDefinition::kReserved:
      return memory.reserved.expected;
    case MemoryDefinition::kProcess:
      return memory.process.expected;
    case MemoryDefinition::kCalculated:
      break;
  }
  return calculated;
}

double Answer::ErrorOf(const MeasuredMemory& measurement) const {
  const double predicted = static_cast<double>(Predicted(measurement.definition).value());
  return predicted / static_cast<double>(measurement.size.value()) - 1;
}

absl::StatusOr<Answer> AnswerOf(MeasuredCase run) {
  Answer out;
  out.run = std::move(run);
  SEXTANT_ASSIGN_OR_RETURN(const MemoryModel model, MemoryModel::Of(out.run.model, out.run.job));
  out.stage_count = model.stage_count();
  SEXTANT_ASSIGN_OR_RETURN(StagePeak peak, PeakOf(out.run, model));
  if (out.run.head_buffer > Bytes(0) && peak.memory.phase == PeakPhase::kHeadBackward) {
    SEXTANT_ASSIGN_OR_RETURN(peak, WithoutHeadBuffer(out.run));
  }
  out.stage = peak.stage;
  out.memory = peak.memory;
  if (IsCalculated(out.run)) {
    SEXTANT_ASSIGN_OR_RETURN(out.calculated, CalculatedOf(model, out.stage));
  }
  return out;
}

Answers AnswersOf(const std::vector<CsvRow>& megatron_ci,
                  const std::vector<CsvRow>& measured_runs) {
  Answers out;
  for (const CsvRow& row : megatron_ci) Take(TranslateMegatronRow(row), "Megatron-LM CI", out);
  for (const CsvRow& row : measured_runs) {
    if (SaysMemory(row)) Take(TranslateMeasuredRow(row), SourceOf(row), out);
  }
  MarkContradicted(out.answered);
  return out;
}

}  // namespace sextant
