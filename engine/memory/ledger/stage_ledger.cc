// Finds the peak of a stage from sums, in four steps:
//   1. holdings: state, copies and buffers, which micro-batches in flight don't change;
//   2. chunks: the bytes that a micro-batch keeps, and the bytes added and freed in each phase;
//   3. per chunk the worst phase, with the state that is gathered or cast in it (WorstOf()): the
//      work of a backward pass, for which InFlight::Peak() finds the point of the schedule;
//   4. the larger of that peak and the optimizer step (PeakBytesOf()).
// Chunks in a row with equal layers are computed once, and so are layers of one kind (LayerCosts).
// Time is linear in chunks and tensors. stage_ledger_rows.cc lists the same bytes as rows.
#include "engine/memory/ledger/stage_ledger.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// Steps of CallWork: a chunk and its phases, a layer whose tensors are walked, a tensor whose
// state has to be looked at by itself, and equal layers that are gathered.
constexpr int64_t kStepsAChunk = 24;
constexpr int64_t kStepsALayer = 128;
constexpr int64_t kStepsATensor = 4;
constexpr int64_t kStepsAGatheredPiece = 4;

PeakPhase PeakPhaseOf(StagePhase phase) {
  switch (phase) {
    case StagePhase::kForward:
      return PeakPhase::kForward;
    case StagePhase::kLoss:
      return PeakPhase::kLoss;
    case StagePhase::kHead:
      return PeakPhase::kHeadBackward;
    case StagePhase::kLayer:
      break;
  }
  return PeakPhase::kLayerBackward;
}

// A computed gradient has the type in which the weights are multiplied.
DataType GradientAsComputed(const MemoryJob& job) {
  const DataType weight = job.state.precision.weight_data_type;
  return StorageBytes(weight) < 2 ? DataType::kBf16 : weight;
}

// The buffers as transients see them. Gradients are not separate tensors where backward passes
// produce the kept tensors directly, or where units are counted as gathered.
BufferSpec AsTransientsSee(const MemoryJob& job) {
  BufferSpec out = job.buffers;
  const bool made_once = out.gradient_lifetime == GradientLifetime::kFromBackward &&
                         job.pipeline.micro_batch_count == 1 && !job.state.optimizer.in_backward;
  const bool gathered = job.state.sharding.zero_stage >= ZeroStage::kGradients;
  out.fused_weight_gradient = out.fused_weight_gradient || made_once || gathered;
  return out;
}

bool AlwaysSplitsBackward(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleH1 || schedule == PipelineSchedule::kZeroBubbleH2;
}

bool SplitsBackward(PipelineSchedule schedule) {
  return AlwaysSplitsBackward(schedule) || schedule == PipelineSchedule::kDualPipe;
}

bool GivesPlaceholders(const BufferSpec& buffers) {
  return buffers.fused_weight_gradient && buffers.gradient_lifetime == GradientLifetime::kAlways;
}

// The phase with the largest sum of chunk and concurrent bytes.
ChunkWork WorstOf(const std::array<PhaseBytes, kStagePhaseCount>& phases,
                  const std::array<Bytes, kStagePhaseCount>& concurrent) {
  ChunkWork worst;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (!phases[i].happens) continue;
    const Bytes net = phases[i].added - phases[i].freed + concurrent[i];
    if (worst.happens && net <= worst.net) continue;
    worst = {.phase = static_cast<StagePhase>(i), .net = net, .happens = true};
  }
  return worst;
}

Bytes BucketOf(int64_t elements, int64_t most, DataType type) {
  return Bytes(std::min(elements, most) * StorageBytes(type));
}

}  // namespace

StageLedger::StageLedger(const LedgerContext& context)
    : context_(context),
      state_context_{.spec = context.spec,
                     .layout = context.job.layout,
                     .weights = context.weights,
                     .state = context.job.state,
                     .context_parallel_size = context.job.batch.context_parallel_size},
      copies_{.job = context.job, .state = state_context_},
      activations_{.spec = context.spec,
                   .layout = context.job.layout,
                   .batch = context.job.batch,
                   .flow = context.flow},
      buffers_(AsTransientsSee(context.job)),
      transients_{.activations = activations_,
                  .placement = context.weights.placement(),
                  .buffers = buffers_,
                  .gradient_data_type = GradientAsComputed(context.job),
                  .head_placeholder = GivesPlaceholders(context.job.buffers),
                  .micro_batch_count = context.job.pipeline.micro_batch_count,
                  .head_input_is_gathered = GathersIntoGlobalBuffer(context.job)} {}

int64_t StageLedger::StageOfChunk(int64_t stage, int64_t chunk) const {
  const bool opposite = context_.job.pipeline.schedule == PipelineSchedule::kDualPipe && chunk == 1;
  return opposite ? context_.weights.stage_count() - 1 - stage : stage;
}

absl::Status StageLedger::SpendOnState(int64_t stage) const {
  int64_t tensors = 0;
  context_.weights.ForEachRun(stage, [&tensors](const TensorRun& run, const auto&...) {
    tensors += static_cast<int64_t>(run.end - run.first);
  });
  if (!context_.state_rules.only_numbers) tensors *= kStepsATensor;
  const StateSpec& state = context_.job.state;
  if (!DividesParameters(state.sharding) && !OffloadsGradients(state)) {
    return context_.work.Spend(tensors);
  }
  const LayerPlacement& placement = context_.weights.placement();
  size_t pieces = 0;  // that are gathered in turn
  for (int64_t chunk = 0; chunk < placement.chunk_count(); ++chunk) {
    pieces += placement.PiecesOf(stage, chunk).size();
  }
  return context_.work.Spend(tensors + kStepsAGatheredPiece * static_cast<int64_t>(pieces));
}

absl::Status StageLedger::FillHoldings(int64_t stage, StageHoldings& out) const {
  SEXTANT_RETURN_IF_ERROR(SpendOnState(stage));
  SEXTANT_ASSIGN_OR_RETURN(out.state, StageStateOf(state_context_, context_.state_rules, stage));
  out.copies = FrameworkCopiesOf(copies_, stage);
  out.standing = StandingOf(stage);
  AddBuckets(stage, out);
  if (context_.job.pipeline.schedule != PipelineSchedule::kDualPipe) return absl::OkStatus();
  const int64_t opposite = StageOfChunk(stage, 1);
  SEXTANT_RETURN_IF_ERROR(SpendOnState(opposite));
  SEXTANT_ASSIGN_OR_RETURN(const StageState other,
                           StageStateOf(state_context_, context_.state_rules, opposite));
  out.state = SumOf(out.state, other);
  out.copies = SumOf(out.copies, FrameworkCopiesOf(copies_, opposite));
  out.standing = SharedBy(out.standing, StandingOf(opposite));
  return absl::OkStatus();
}

absl::Status StageLedger::Fill(int64_t stage, LayerCosts& costs, StageContent& out) const {
  SEXTANT_RETURN_IF_ERROR(FillHoldings(stage, out.held));
  out.chunks.clear();
  SEXTANT_RETURN_IF_ERROR(FillChunks(stage, costs, out));
  Finish(stage, out);
  return absl::OkStatus();
}

absl::Status StageLedger::FillChunks(int64_t stage, LayerCosts& costs, StageContent& out) const {
  if (out.chunks.empty()) FindChunks(stage, out);
  out.most_received = Bytes(0);
  out.weights.clear();
  const ChunkMemory* before = nullptr;
  for (ChunkMemory& chunk : out.chunks) {
    SEXTANT_RETURN_IF_ERROR(FillChunk(before, costs, chunk));
    out.most_received = std::max(out.most_received, chunk.transients.receive_buffers);
    before = &chunk;
  }
  return absl::OkStatus();
}

absl::optional<Bytes> StageLedger::Finish(int64_t stage, StageContent& out) const {
  const bool dual = context_.job.pipeline.schedule == PipelineSchedule::kDualPipe;
  const bool has_head = HasHead(stage) || (dual && HasHead(StageOfChunk(stage, 1)));
  out.held.standing.global_buffer = GlobalBufferOf(copies_, has_head);
  out.held.standing.deferred_head = DeferredHead(out);
  std::array<Bytes, kStagePhaseCount> concurrent;
  for (size_t i = 0; i < concurrent.size(); ++i)
    concurrent[i] = ConcurrentAt(static_cast<StagePhase>(i), out);
  bool evenly = !out.weights.empty();
  if (evenly && out.concurrent == concurrent) return Bytes(0);
  out.concurrent = concurrent;
  out.weights.resize(static_cast<size_t>(context_.in_flight.chunk_count()));
  Bytes grown(0);
  for (ChunkMemory& chunk : out.chunks) {
    const Bytes before = chunk.worst.net;
    chunk.worst = WorstOf(chunk.phases, concurrent);
    const Bytes more = chunk.worst.net - before;
    if (chunk.first == 0) grown = more;
    evenly = evenly && more == grown;
    std::fill_n(out.weights.begin() + chunk.first, chunk.count,
                ChunkBytes{.held = chunk.parts.total(),
                           .awaiting_weight_gradient = chunk.awaiting.total(),
                           .backward_work = chunk.worst.net});
  }
  return evenly ? absl::optional<Bytes>(grown) : absl::nullopt;
}

// The first chunks have an embedding.
bool StageLedger::IsAsBefore(const StageChunk& of) const {
  if (of.chunk < 2 || context_.flow != nullptr) return false;
  const LayerPlacement& placement = context_.weights.placement();
  return IsAlike(placement.PiecesOf(of.stage, of.chunk),
                 placement.PiecesOf(of.stage, of.chunk - 1));
}

void StageLedger::FindChunks(int64_t stage, StageContent& out) const {
  const bool dual = context_.job.pipeline.schedule == PipelineSchedule::kDualPipe;
  const int64_t count = context_.in_flight.chunk_count();
  for (int64_t i = 0; i < count; ++i) {
    const StageChunk where = {.stage = StageOfChunk(stage, i), .chunk = dual ? 0 : i};
    const bool last = (dual || i == count - 1) && where.stage == context_.weights.stage_count() - 1;
    if (!last && IsAsBefore(where)) {
      ++out.chunks.back().count;
    } else {
      out.chunks.push_back({.where = where, .first = i, .last = last});
    }
  }
}

// The chunks of a stage differ in transients only where they do in what they keep after the layers.
absl::Status StageLedger::FillChunk(const ChunkMemory* before, LayerCosts& costs,
                                    ChunkMemory& out) const {
  const LayerPlacement& placement = context_.weights.placement();
  const int64_t computed = costs.computed();
  SEXTANT_ASSIGN_OR_RETURN(out.parts,
                           ChunkActivations(activations_, placement, out.where, costs.walks()));
  const bool splits = SplitsBackward(context_.job.pipeline.schedule);
  const bool defers = out.last && context_.job.pipeline.deferred_head_gradients > 0;
  StageParts waits;
  if (splits || defers) {
    SEXTANT_ASSIGN_OR_RETURN(
        waits, AwaitingActivations(activations_, placement, out.where, costs.walks()));
  }
  out.awaiting = splits ? waits : StageParts();
  out.deferred_head = defers ? waits.output : Bytes(0);
  if (before != nullptr && before->where.stage == out.where.stage &&
      before->parts.output == out.parts.output) {
    out.transients = before->transients;
  } else {
    SEXTANT_ASSIGN_OR_RETURN(out.transients,
                             StageTransientsOf(transients_, out.where.stage, out.parts, costs));
  }
  for (size_t i = 0; i < out.phases.size(); ++i) {
    out.phases[i] = BytesAt(out, static_cast<StagePhase>(i));
  }
  const auto pieces =
      static_cast<int64_t>(placement.PiecesOf(out.where.stage, out.where.chunk).size());
  return context_.work.Spend(kStepsAChunk + pieces + out.count +
                             kStepsALayer * (costs.computed() - computed));
}

void StageLedger::AddBuckets(int64_t stage, StageHoldings& out) const {
  const BufferSpec& buffers = context_.job.buffers;
  if (buffers.reduce_bucket_elements == 0 && buffers.gather_bucket_elements == 0) return;
  const PrecisionPolicy& precision = context_.job.state.precision;
  int64_t trainable = context_.weights.CountOn(stage).trainable;
  if (context_.job.pipeline.schedule == PipelineSchedule::kDualPipe) {
    trainable += context_.weights.CountOn(StageOfChunk(stage, 1)).trainable;
  }
  const int64_t most = buffers.reduce_bucket_whole ? buffers.reduce_bucket_elements : trainable;
  out.reduce_bucket = BucketOf(buffers.reduce_bucket_elements, most, precision.gradient_data_type) *
                      buffers.reduce_bucket_count;
  out.gather_bucket =
      BucketOf(buffers.gather_bucket_elements, trainable, precision.weight_data_type);
}

bool StageLedger::gradients_wait() const {
  return context_.job.buffers.gradient_lifetime == GradientLifetime::kFromBackward &&
         (context_.job.pipeline.micro_batch_count == 1 || KeepsWholeGradients(context_.job));
}

Bytes StageLedger::GradientsAt(PeakPhase phase, const StageContent& content) const {
  const Bytes kept = drops_gradients(phase) ? Bytes(0) : content.held.state.gradients;
  return has_computed_gradients(phase) ? kept + content.held.copies.computed_gradients : kept;
}

bool StageLedger::HasHead(int64_t stage) const {
  return stage == context_.weights.stage_count() - 1 &&
         context_.spec.output.head != OutputHeadKind::kNone;
}

bool StageLedger::defers_all_head_gradients() const {
  const PipelineSpec& pipeline = context_.job.pipeline;
  return pipeline.deferred_head_gradients >= pipeline.micro_batch_count;
}

// The last micro-batch has its own in work where it is deferred, too.
Bytes StageLedger::DeferredHead(const StageContent& content) const {
  const PipelineSpec& pipeline = context_.job.pipeline;
  const int64_t before =
      std::min(pipeline.deferred_head_gradients,
               pipeline.micro_batch_count - (defers_all_head_gradients() ? 1 : 0));
  const CheckedInt size = CheckedInt(content.chunks.back().deferred_head.value()) * before;
  return Bytes(size.ok() ? size.value() : INT64_MAX / 4);  // a stage that large is refused
}

StandingBuffers StageLedger::StandingOf(int64_t stage) const {
  return StandingBuffersOf(copies_, stage, HasHead(stage));
}

// The copies, which no block of a freed activation has room for, and the blocks together, beyond
// the larger of the two that is counted.
Bytes StageLedger::StepCache(const StageState& state, const PeakBytes& peak) const {
  if (!context_.job.buffers.flattens_gradients_at_step) return Bytes(0);
  const Bytes copies = StepCopiesOf(context_.job, state);
  if (!peak.in_step() || !peak.working.ok()) return copies;
  return std::max(Bytes(peak.working.value()) + copies - peak.stepping, Bytes(0));
}

// Only the last chunk has a loss, a head, and tensors after the layers to free.
PhaseBytes StageLedger::BytesAt(const ChunkMemory& chunk, StagePhase phase) const {
  PhaseBytes out = chunk.transients.At(phase);
  const bool splits = AlwaysSplitsBackward(context_.job.pipeline.schedule);
  if (chunk.last && phase == StagePhase::kLayer) {
    // The head's weight gradient waits, and so do the head's input and the logits' gradient.
    const Bytes waits = splits                        ? chunk.awaiting.output
                        : defers_all_head_gradients() ? chunk.deferred_head
                                                      : Bytes(0);
    out.freed = std::max(out.freed - waits, Bytes(0));
  }
  if (chunk.last) return out;
  if (phase == StagePhase::kLoss || phase == StagePhase::kHead) return {};
  const bool last_stage = chunk.where.stage == context_.weights.stage_count() - 1;
  if (last_stage) out.freed = Bytes(0);
  return out;
}

Bytes StageLedger::ConcurrentAt(StagePhase phase, const StageContent& content) const {
  const StageState& state = content.held.state;
  const Bytes always =
      state.gathered_weights + state.dequantized_weights + content.held.copies.CastsAt(phase);
  if (phase == StagePhase::kForward || phase == StagePhase::kLoss) return always;
  return always + state.gathered_gradients + content.held.reduce_bucket;
}

StageLedger::PeakBytes StageLedger::PeakBytesOf(const StageContent& content, Bytes in_flight,
                                                PeakPhase phase) const {
  return {.working = CheckedInt(in_flight.value()) + content.most_received.value() +
                     content.held.copies.whole_gradients.value() +
                     GradientsAt(phase, content).value(),
          .stepping = content.held.gather_bucket + StepCopiesOf(context_.job, content.held.state) +
                      GradientsAt(PeakPhase::kOptimizerStep, content)};
}

StageTotal StageLedger::TotalOf(const StageContent& content, const InFlightPeak& peak) const {
  const StageState& state = content.held.state;
  const PeakBytes peak_bytes =
      PeakBytesOf(content, peak.size, PeakPhaseOf(WorkOf(peak.point, content).phase));
  StageTotal out;
  out.in_step = peak_bytes.in_step();
  const CheckedInt highest = out.in_step ? peak_bytes.stepping.value() : peak_bytes.working;
  out.counted = highest + state.weights.value() + state.master_weights.value() +
                state.optimizer_state.value() + content.held.standing.total().value();
  out.step_cache = StepCache(state, peak_bytes);
  return out;
}

StageMemory StageLedger::MemoryOf(const StageContent& content, const InFlightPeak& peak) const {
  StageMemory out;
  out.in_flight = peak.point;
  const StageState& state = content.held.state;
  const ChunkWork work = WorkOf(peak.point, content);
  out.phase = PeakPhaseOf(work.phase);
  const Bytes copies = StepCopiesOf(context_.job, state);
  const PeakBytes peak_bytes = PeakBytesOf(content, peak.size, out.phase);
  const bool step = peak_bytes.in_step();
  out.step_cache = StepCache(state, peak_bytes);
  if (step) {
    out.phase = PeakPhase::kOptimizerStep;
    out.in_flight = InFlightPoint();
  }
  out.host = state.host;
  const auto put = [&out](LedgerKind kind, Bytes size) {
    out.sums[static_cast<size_t>(kind)] = size;
  };
  put(LedgerKind::kWeight, state.weights);
  put(LedgerKind::kGradient, GradientsAt(out.phase, content));
  put(LedgerKind::kMasterWeight, state.master_weights);
  put(LedgerKind::kOptimizerState, state.optimizer_state);
  if (step) {
    put(LedgerKind::kTransient, copies);
    put(LedgerKind::kCommunicationBuffer,
        content.held.gather_bucket + content.held.standing.total());
    return out;
  }
  const PhaseBytes bytes =
      work.happens ? content.ChunkAt(peak.point.chunk).At(work.phase) : PhaseBytes();
  const bool reduces =
      work.happens && work.phase != StagePhase::kForward && work.phase != StagePhase::kLoss;
  const Bytes reduced = reduces ? content.held.reduce_bucket : Bytes(0);
  const Bytes concurrent = work.happens ? ConcurrentAt(work.phase, content) - reduced : Bytes(0);
  put(LedgerKind::kActivation, peak.size - (work.happens ? work.net : Bytes(0)) - bytes.freed);
  put(LedgerKind::kTransient, bytes.added + concurrent + content.held.copies.whole_gradients);
  put(LedgerKind::kCommunicationBuffer,
      content.most_received + reduced + content.held.standing.total());
  return out;
}

}  // namespace sextant
