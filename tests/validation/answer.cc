#include "tests/validation/answer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/contradictions.h"
#include "tests/validation/measured_row.h"
#include "tests/validation/megatron_row.h"
#include "tests/validation/service.h"

namespace sextant {
namespace {

bool IsOfMatricesOfLayers(const v1::LedgerRow& row) {
  switch (row.kind()) {
    case v1::LEDGER_KIND_WEIGHT:
    case v1::LEDGER_KIND_GRADIENT:
    case v1::LEDGER_KIND_MASTER_WEIGHT:
    case v1::LEDGER_KIND_OPTIMIZER_STATE:
      return !row.layer_kind().empty() && row.dimensions_size() > 1;
    case v1::LEDGER_KIND_ACTIVATION:
      return !row.layer_kind().empty();
    default:
      return false;
  }
}

Bytes CalculatedOf(const v1::StageMemory& memory) {
  Bytes out = Bytes(0);
  for (const v1::LedgerRow& row : memory.ledger()) {
    if (IsOfMatricesOfLayers(row)) out = out + Bytes(row.size_bytes());
  }
  return out;
}

bool IsCalculated(const MeasuredCase& run) {
  return std::any_of(run.measured.begin(), run.measured.end(),
                     [](const MeasuredMemory& measurement) {
                       return measurement.definition == MemoryDefinition::kCalculated;
                     });
}

struct Question {
  absl::optional<int64_t> stage = {};  // absent: the fullest
  bool ledger = false;
};

absl::StatusOr<Prediction> PredictionOf(v1::PlanRunRequest request, const Question& question) {
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_ledger(question.ledger);
  SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunResponse response, AskForPlan(request));
  v1::Memory& memory = *response.mutable_plan()->mutable_memory();
  Prediction out;
  out.stage = question.stage.value_or(memory.peak_stage());
  out.stage_count = memory.stages_size();
  if (out.stage < 0 || out.stage >= out.stage_count) {
    return absl::InvalidArgumentError("no such stage");
  }
  out.memory = std::move(*memory.mutable_stages(static_cast<int>(out.stage)));
  out.calculated = CalculatedOf(out.memory);
  out.verdict = response.plan().verdict();
  out.fit_chance = response.plan().fit_chance();
  return out;
}

void Refuse(const std::string& source, const std::string& id, const absl::Status& status,
            Answers& out) {
  out.left_out.push_back({source, id, absl::StrCat("the service refuses it: ", status.message())});
}

struct Taker {
  const std::string& source;
  const std::string& id;
  Answers& out;

  void operator()(MeasuredCase run) const {
    absl::StatusOr<Answer> answer = AnswerOf(std::move(run));
    if (!answer.ok()) return Refuse(source, id, answer.status(), out);
    out.answered.push_back(*std::move(answer));
  }
  void operator()(OpenCase run) const {
    absl::StatusOr<OpenAnswer> answer = OpenAnswerOf(std::move(run));
    if (!answer.ok()) return Refuse(source, id, answer.status(), out);
    out.open.push_back(*std::move(answer));
  }
  void operator()(LeftOut left_out) const {
    out.left_out.push_back({source, id, std::move(left_out.reason)});
  }
};

}  // namespace

v1::Interval Prediction::Of(MemoryDefinition definition) const {
  switch (definition) {
    case MemoryDefinition::kAllocated:
      return memory.allocated_bytes();
    case MemoryDefinition::kReserved:
      return memory.reserved_bytes();
    case MemoryDefinition::kProcess:
      return memory.process_bytes();
    case MemoryDefinition::kCalculated:
      break;
  }
  v1::Interval out;
  const double bytes = static_cast<double>(calculated.value());
  out.set_expected(bytes);
  out.set_low(bytes);
  out.set_high(bytes);
  return out;
}

double Prediction::ErrorOf(const MeasuredMemory& measurement) const {
  return Of(measurement.definition).expected() / static_cast<double>(measurement.size.value()) - 1;
}

const Prediction* Answer::Of(RequestKind request) const {
  if (request == RequestKind::kAllFields) return &all_fields;
  return defaults.has_value() ? &*defaults : nullptr;
}

absl::StatusOr<Answer> AnswerOf(MeasuredCase run) {
  Answer out;
  out.run = std::move(run);
  const Question question = {.stage = out.run.stage, .ledger = IsCalculated(out.run)};
  SEXTANT_ASSIGN_OR_RETURN(out.all_fields, PredictionOf(out.run.all_fields, question));
  absl::StatusOr<Prediction> defaults = PredictionOf(out.run.defaults, question);
  if (defaults.ok()) {
    out.defaults = *std::move(defaults);
  } else {
    out.defaults_refused = std::string(defaults.status().message());
  }
  return out;
}

bool OpenAnswer::inside() const {
  if (!run.measured.has_value()) return may_not_fit;
  return low <= *run.measured && *run.measured <= high;
}

absl::StatusOr<OpenAnswer> OpenAnswerOf(OpenCase run) {
  OpenAnswer out;
  std::vector<double> ends;
  for (const v1::PlanRunRequest& request : run.requests) {
    SEXTANT_ASSIGN_OR_RETURN(const Prediction prediction, PredictionOf(request, {}));
    for (const MemoryDefinition definition : run.definitions) {
      ends.push_back(prediction.Of(definition).low());
      ends.push_back(prediction.Of(definition).high());
    }
    out.may_not_fit |= prediction.verdict != v1::VERDICT_FITS;
  }
  if (ends.empty()) return absl::InvalidArgumentError("nothing asked");
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  out.low = Bytes(std::llround(*low));
  out.high = Bytes(std::llround(*high));
  out.run = std::move(run);
  return out;
}

Answers AnswersOf(const std::vector<CsvRow>& megatron_ci,
                  const std::vector<CsvRow>& measured_runs) {
  Answers out;
  const std::string megatron = kMegatronSource;
  for (const CsvRow& row : megatron_ci) {
    const std::string id = MegatronRowId(row);
    std::visit(Taker{megatron, id, out}, TranslateMegatronRow(row));
  }
  for (const CsvRow& row : measured_runs) {
    if (!SaysMemory(row)) continue;
    const std::string source = SourceOf(row);
    const std::string id = Cell(row, "id");
    std::visit(Taker{source, id, out}, TranslateMeasuredRow(row));
  }
  MarkContradicted(out.answered);
  return out;
}

}  // namespace sextant
