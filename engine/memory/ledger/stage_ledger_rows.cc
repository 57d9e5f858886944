// The rows of a stage's ledger.
#include <algorithm>

#include "engine/base/status_macros.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/ledger/stage_memory.h"

namespace sextant {
namespace {

constexpr int64_t kStepsARow = 16;  // of CallWork

constexpr char kHeld[] = "from a micro-batch's forward to its backward pass";
constexpr char kAwaits[] = "from the first half of a backward pass to the second";
constexpr absl::string_view kGatheredGradients = "gathered_gradients";  // rows of StageStateOf()

LedgerRow RowOf(const ActivationTensor& tensor, int64_t micro_batches, absl::string_view alive) {
  LedgerRow out = LedgerRowOf(LedgerKind::kActivation, tensor);
  out.layers = tensor.layers;
  out.micro_batches = micro_batches;
  out.size = tensor.size * (tensor.layers * micro_batches);
  out.alive = alive;
  out.why = tensor.kept_for;
  return out;
}

LedgerRow FreedRow(Bytes freed) {
  return {.kind = LedgerKind::kActivation,
          .name = "freed",
          .element_kind = RowElements::kByte,
          .element_bits = kBitsPerByte,
          .elements = -freed.value(),
          .size = Bytes(0) - freed,
          .alive = "no more, or not yet, at the peak",
          .why = "the micro-batch in work is past what needed it, or before what makes it",
          .source = "docs/memory.md"};
}

LedgerRow BucketRow(absl::string_view name, Bytes size, absl::string_view alive) {
  return {.kind = LedgerKind::kCommunicationBuffer,
          .module = "framework",
          .name = name,
          .element_kind = RowElements::kByte,
          .element_bits = kBitsPerByte,
          .elements = size.value(),
          .size = size,
          .alive = alive,
          .why = "in addition to the tensors that it is filled from",
          .source = "docs/memory.md"};
}

// `widens`: the copies are of gradients, and else of second moments.
void AddStepCopies(Bytes size, bool widens, LedgerRows& rows) {
  if (size == Bytes(0)) return;
  rows.push_back({.kind = LedgerKind::kTransient,
                  .module = "optimizer",
                  .name = widens ? "gradient_copies" : "second_moment_copies",
                  .element_kind = RowElements::kByte,
                  .element_bits = kBitsPerByte,
                  .elements = size.value(),
                  .size = size,
                  .alive = "in the optimizer step",
                  .why = widens ? "fp32 weights are updated with fp32 gradients"
                                : "the square roots of all are taken at once",
                  .source = "docs/memory.md"});
}

// Sets the chunk of the rows from `first` on, where the stage has several chunks. Functions that
// append rows leave it to this one.
void SetChunk(const StageContent& content, int64_t chunk, size_t first, LedgerRows& rows) {
  if (content.weights.size() == 1) return;
  for (size_t i = first; i < rows.size(); ++i) rows[i].chunk = chunk;
}

// True where a row of model state is alive at `phase`.
bool IsThere(const LedgerRow& row, const absl::optional<StagePhase>& phase) {
  if (row.kind != LedgerKind::kTransient) return true;
  if (!phase.has_value()) return false;
  if (row.module != kGatheredGradients) return true;
  return *phase == StagePhase::kHead || *phase == StagePhase::kLayer;
}

// The stage that receives the most, among the stages whose layers the chunks have: a stage of both
// ends of a pipeline receives into the same buffers.
int64_t StageWithMostReceived(const StageContent& content) {
  const auto most = std::max_element(
      content.chunks.begin(), content.chunks.end(), [](const auto& a, const auto& b) {
        return a.transients.receive_buffers < b.transients.receive_buffers;
      });
  return most->where.stage;
}

}  // namespace

absl::optional<StagePhase> StageLedger::WorkingPhase(const StageContent& content,
                                                     const StageMemory& memory) const {
  if (memory.phase == PeakPhase::kOptimizerStep) return absl::nullopt;
  const ChunkWork work = WorkOf(memory.in_flight, content);
  if (!work.happens) return absl::nullopt;
  return work.phase;
}

absl::Status StageLedger::AppendState(int64_t stage, const StageMemory& memory,
                                      const absl::optional<StagePhase>& phase,
                                      LedgerRows& rows) const {
  LedgerRows state;
  SEXTANT_RETURN_IF_ERROR(
      StageStateOf(state_context_, context_.state_rules, stage, &state).status());
  for (const LedgerRow& row : state) {
    const bool waits = row.kind == LedgerKind::kGradient && drops_gradients(memory.phase);
    if (!waits && IsThere(row, phase)) rows.push_back(row);
  }
  AppendCopies(stage, memory, phase, rows);
  return absl::OkStatus();
}

void StageLedger::AppendCopies(int64_t stage, const StageMemory& memory,
                               const absl::optional<StagePhase>& phase, LedgerRows& rows) const {
  if (has_computed_gradients(memory.phase)) AppendComputedGradientRows(copies_, stage, rows);
  if (memory.phase != PeakPhase::kOptimizerStep) AppendWholeGradientRows(copies_, stage, rows);
  if (phase.has_value()) AppendCastRows(copies_, stage, *phase, rows);
}

absl::Status StageLedger::AppendActivations(const StageContent& content, const StageMemory& memory,
                                            LedgerRows& rows) const {
  const LayerPlacement& placement = context_.weights.placement();
  for (int64_t i = 0; i < context_.in_flight.chunk_count(); ++i) {
    if (static_cast<int64_t>(rows.size()) > kMaxLedgerRows) return absl::OkStatus();
    const ChunkMemory& alike = content.ChunkAt(i);
    const StageChunk where = {.stage = alike.where.stage,
                              .chunk = alike.where.chunk + i - alike.first};
    const int64_t held = memory.in_flight.Held(i);
    const int64_t awaiting = memory.in_flight.AwaitingWeightGradient(i);
    const size_t first = rows.size();
    ActivationTensors kept;
    SEXTANT_RETURN_IF_ERROR(ChunkActivations(activations_, placement, where, &kept).status());
    for (const ActivationTensor& tensor : kept) {
      if (held > 0) rows.push_back(RowOf(tensor, held, kHeld));
    }
    if (awaiting > 0) {
      ActivationTensors waits;
      SEXTANT_RETURN_IF_ERROR(AwaitingActivations(activations_, placement, where, &waits).status());
      for (const ActivationTensor& tensor : waits) rows.push_back(RowOf(tensor, awaiting, kAwaits));
    }
    SEXTANT_RETURN_IF_ERROR(
        context_.work.Spend(kStepsARow * static_cast<int64_t>(rows.size() - first)));
    SetChunk(content, i, first, rows);
  }
  return absl::OkStatus();
}

absl::Status StageLedger::Append(int64_t stage, const StageContent& content,
                                 const StageMemory& memory, LayerCosts& costs,
                                 LedgerRows& rows) const {
  const absl::optional<StagePhase> phase = WorkingPhase(content, memory);
  const size_t own = rows.size();
  SEXTANT_RETURN_IF_ERROR(AppendState(stage, memory, phase, rows));
  if (context_.job.pipeline.schedule == PipelineSchedule::kDualPipe) {
    SetChunk(content, 0, own, rows);
    const size_t opposite = rows.size();
    SEXTANT_RETURN_IF_ERROR(AppendState(StageOfChunk(stage, 1), memory, phase, rows));
    SetChunk(content, 1, opposite, rows);
  }
  AppendStandingRows(content.held.standing, rows);
  if (memory.phase == PeakPhase::kOptimizerStep) {
    AddStepCopies(StepCopiesOf(context_.job, content.held.state),
                  context_.job.buffers.widens_gradients_at_step, rows);
    if (content.held.gather_bucket > Bytes(0)) {
      rows.push_back(
          BucketRow("gather_bucket", content.held.gather_bucket, "in the optimizer step"));
    }
    AppendReserveRows(context_.job.reserve, memory, rows);
    return absl::OkStatus();
  }
  SEXTANT_RETURN_IF_ERROR(AppendActivations(content, memory, rows));
  if (phase.has_value()) {
    const ChunkMemory& chunk = content.ChunkAt(memory.in_flight.chunk);
    const PhaseBytes& bytes = chunk.At(*phase);
    const size_t first = rows.size();
    if (bytes.freed > Bytes(0)) rows.push_back(FreedRow(bytes.freed));
    AppendTransientRows(transients_, chunk.where.stage, *phase, chunk.parts, costs, rows);
    SetChunk(content, memory.in_flight.chunk, first, rows);
  }
  AppendReceiveBufferRows(transients_, StageWithMostReceived(content), rows);
  const bool reduces = phase == StagePhase::kHead || phase == StagePhase::kLayer;
  if (reduces && content.held.reduce_bucket > Bytes(0)) {
    rows.push_back(BucketRow("reduce_bucket", content.held.reduce_bucket, "in backward passes"));
  }
  AppendReserveRows(context_.job.reserve, memory, rows);
  return absl::OkStatus();
}

}  // namespace sextant
