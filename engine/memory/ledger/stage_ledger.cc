#include "engine/memory/ledger/stage_ledger.h"

#include <algorithm>

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// Steps of CallWork: a chunk and its moments, a layer whose tensors are walked, a tensor whose
// state has to be looked at by itself, and equal layers that are gathered.
constexpr int64_t kStepsAChunk = 24;
constexpr int64_t kStepsALayer = 128;
constexpr int64_t kStepsATensor = 4;
constexpr int64_t kStepsAGatheredPiece = 4;

PeakPhase PeakPhaseOf(StagePhase moment) {
  switch (moment) {
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
                         job.pipeline.micro_batch_count == 1;
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

StageState SumOf(const StageState& a, const StageState& b) {
  return {.weights = a.weights + b.weights,
          .gradients = a.gradients + b.gradients,
          .master_weights = a.master_weights + b.master_weights,
          .optimizer_state = a.optimizer_state + b.optimizer_state,
          .host = a.host + b.host,
          .gathered_weights = a.gathered_weights + b.gathered_weights,
          .gathered_gradients = a.gathered_gradients + b.gathered_gradients,
          .dequantized_weights = a.dequantized_weights + b.dequantized_weights};
}

Bytes BucketOf(int64_t elements, int64_t most, DataType type) {
  return Bytes(std::min(elements, most) * StorageBytes(type));
}

}  // namespace

int64_t StageWithMostReceived(const StageContent& content) {
  const auto most = std::max_element(
      content.chunks.begin(), content.chunks.end(), [](const auto& a, const auto& b) {
        return a.transients.receive_buffers < b.transients.receive_buffers;
      });
  return most->where.stage;
}

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
  SEXTANT_RETURN_IF_ERROR(FillChunks(stage, costs, out));
  Finish(stage, out);
  return absl::OkStatus();
}

absl::Status StageLedger::FillChunks(int64_t stage, LayerCosts& costs, StageContent& out) const {
  out.chunks.clear();
  out.chunks.reserve(static_cast<size_t>(context_.in_flight.chunk_count()));
  out.most_received = Bytes(0);
  out.weights.clear();
  for (int64_t i = 0; i < context_.in_flight.chunk_count(); ++i) {
    SEXTANT_RETURN_IF_ERROR(AddChunk({.stage = stage, .chunk = i}, costs, out));
    out.most_received = std::max(out.most_received, out.chunks.back().transients.receive_buffers);
  }
  return absl::OkStatus();
}

bool StageLedger::Finish(int64_t stage, StageContent& out) const {
  const bool dual = context_.job.pipeline.schedule == PipelineSchedule::kDualPipe;
  const bool has_head = HasHead(stage) || (dual && HasHead(StageOfChunk(stage, 1)));
  out.held.standing.global_buffer = GlobalBufferOf(copies_, has_head);
  std::array<Bytes, kStageMomentCount> beside;
  for (size_t i = 0; i < beside.size(); ++i) beside[i] = BesideAt(static_cast<StagePhase>(i), out);
  if (!out.weights.empty() && out.beside == beside) return false;
  out.beside = beside;
  out.weights.resize(out.chunks.size());
  for (size_t i = 0; i < out.chunks.size(); ++i) {
    ChunkMemory& chunk = out.chunks[i];
    chunk.worst = chunk.works_as_before ? out.chunks[i - 1].worst : WorstOf(chunk, out);
    out.weights[i] = {.held = chunk.parts.total(),
                      .awaiting_weight_gradient = chunk.awaiting.total(),
                      .backward_work = chunk.worst.net};
  }
  return true;
}

// The first chunks have an embedding.
bool StageLedger::IsAsBefore(const StageChunk& of) const {
  if (of.chunk < 2 || context_.flow != nullptr) return false;
  const LayerPlacement& placement = context_.weights.placement();
  return IsAlike(placement.PiecesOf(of.stage, of.chunk),
                 placement.PiecesOf(of.stage, of.chunk - 1));
}

absl::Status StageLedger::AddChunk(const StageChunk& of, LayerCosts& costs,
                                   StageContent& out) const {
  const LayerPlacement& placement = context_.weights.placement();
  const bool dual = context_.job.pipeline.schedule == PipelineSchedule::kDualPipe;
  const bool last_chunk = dual || of.chunk == context_.in_flight.chunk_count() - 1;
  const StageChunk where = {.stage = StageOfChunk(of.stage, of.chunk),
                            .chunk = dual ? 0 : of.chunk};
  const auto pieces = static_cast<int64_t>(placement.PiecesOf(where.stage, where.chunk).size());
  const bool last = last_chunk && where.stage == context_.weights.stage_count() - 1;
  if (!last && IsAsBefore(where)) {
    ChunkMemory& chunk = out.chunks.emplace_back(out.chunks.back());  // FillChunks() has made room
    chunk.where = where;
    chunk.works_as_before = true;
    return context_.work.Spend(kStepsAChunk + pieces);
  }
  const int64_t computed = costs.computed();
  ChunkMemory chunk = {.where = where, .last = last};
  SEXTANT_ASSIGN_OR_RETURN(chunk.parts,
                           ChunkActivations(activations_, placement, chunk.where, costs.walks()));
  if (SplitsBackward(context_.job.pipeline.schedule)) {
    SEXTANT_ASSIGN_OR_RETURN(
        chunk.awaiting, AwaitingActivations(activations_, placement, chunk.where, costs.walks()));
  }
  SEXTANT_RETURN_IF_ERROR(AddTransients(chunk, costs, out));
  out.chunks.push_back(chunk);
  return context_.work.Spend(kStepsAChunk + pieces + kStepsALayer * (costs.computed() - computed));
}

// The chunks of a stage differ only in what they keep after the layers.
absl::Status StageLedger::AddTransients(ChunkMemory& chunk, LayerCosts& costs,
                                        const StageContent& content) const {
  if (!content.chunks.empty()) {
    const ChunkMemory& before = content.chunks.back();
    if (before.where.stage == chunk.where.stage && before.parts.output == chunk.parts.output) {
      chunk.transients = before.transients;
      chunk.works_as_before =
          before.last == chunk.last && before.awaiting.output == chunk.awaiting.output;
      return absl::OkStatus();
    }
  }
  SEXTANT_ASSIGN_OR_RETURN(chunk.transients,
                           StageTransientsOf(transients_, chunk.where.stage, chunk.parts, costs));
  return absl::OkStatus();
}

void StageLedger::AddBuckets(int64_t stage, StageHoldings& out) const {
  const BufferSpec& buffers = context_.job.buffers;
  if (buffers.reduce_bucket_elements == 0 && buffers.gather_bucket_elements == 0) return;
  const PrecisionPolicy& precision = context_.job.state.precision;
  int64_t trainable = context_.weights.CountOn(stage).trainable;
  if (context_.job.pipeline.schedule == PipelineSchedule::kDualPipe) {
    trainable += context_.weights.CountOn(StageOfChunk(stage, 1)).trainable;
  }
  out.reduce_bucket =
      BucketOf(buffers.reduce_bucket_elements, trainable, precision.gradient_data_type);
  out.gather_bucket =
      BucketOf(buffers.gather_bucket_elements, trainable, precision.weight_data_type);
}

bool StageLedger::gradients_wait() const {
  return context_.job.buffers.gradient_lifetime == GradientLifetime::kFromBackward &&
         (context_.job.pipeline.micro_batch_count == 1 || KeepsWholeGradients(context_.job));
}

Bytes StageLedger::GradientsAt(PeakPhase moment, const StageContent& content) const {
  const Bytes kept = drops_gradients(moment) ? Bytes(0) : content.held.state.gradients;
  return has_computed_gradients(moment) ? kept + content.held.copies.computed_gradients : kept;
}

bool StageLedger::HasHead(int64_t stage) const {
  return stage == context_.weights.stage_count() - 1 &&
         context_.spec.output.head != OutputHeadKind::kNone;
}

StandingBuffers StageLedger::StandingOf(int64_t stage) const {
  return StandingBuffersOf(copies_, stage, HasHead(stage));
}

// Master weights are fp32, and divided as the gradients that update them.
Bytes StageLedger::StepCopies(const StageState& state) const {
  const int64_t kept = StorageBytes(context_.job.state.precision.gradient_data_type);
  const BufferSpec& buffers = context_.job.buffers;
  if (!buffers.widens_gradients_at_step || kept >= 4) return Bytes(0);
  const Bytes flat(buffers.flattens_gradients_at_step ? state.master_weights.value() / 4 * kept
                                                      : 0);
  return state.master_weights + flat;
}

// Only the last chunk has a loss, a head, and tensors after the layers to free.
MomentBytes StageLedger::BytesAt(const ChunkMemory& chunk, StagePhase moment) const {
  MomentBytes out = chunk.transients.At(moment);
  const bool splits = AlwaysSplitsBackward(context_.job.pipeline.schedule);
  if (chunk.last && splits && moment == StagePhase::kLayer) {
    // The head's weight gradient waits, and so do the head's input and the logits' gradient.
    out.freed = std::max(out.freed - chunk.awaiting.output, Bytes(0));
  }
  if (chunk.last) return out;
  if (moment == StagePhase::kLoss || moment == StagePhase::kHead) return {};
  const bool last_stage = chunk.where.stage == context_.weights.stage_count() - 1;
  if (last_stage) out.freed = Bytes(0);
  return out;
}

Bytes StageLedger::BesideAt(StagePhase moment, const StageContent& content) const {
  const StageState& state = content.held.state;
  const Bytes always =
      state.gathered_weights + state.dequantized_weights + content.held.copies.CastsAt(moment);
  if (moment == StagePhase::kForward || moment == StagePhase::kLoss) return always;
  return always + state.gathered_gradients + content.held.reduce_bucket;
}

ChunkWork StageLedger::WorstOf(const ChunkMemory& chunk, const StageContent& content) const {
  ChunkWork worst;
  for (int i = 0; i < kStageMomentCount; ++i) {
    const auto moment = static_cast<StagePhase>(i);
    const MomentBytes bytes = BytesAt(chunk, moment);
    if (!bytes.happens) continue;
    const Bytes net = bytes.added - bytes.freed + content.beside[static_cast<size_t>(i)];
    if (worst.happens && net <= worst.net) continue;
    worst = {.moment = moment, .net = net, .happens = true};
  }
  return worst;
}

// Sums of absurd sizes overflow; AddReserve() refuses them.
bool StageLedger::PeaksInStep(const StageContent& content, Bytes in_flight, PeakPhase phase) const {
  const CheckedInt working = CheckedInt(in_flight.value()) + content.most_received.value() +
                             content.held.copies.whole_gradients.value() +
                             GradientsAt(phase, content).value();
  const Bytes stepping = content.held.gather_bucket + StepCopies(content.held.state) +
                         GradientsAt(PeakPhase::kOptimizerStep, content);
  return working.ok() && stepping.value() > working.value();
}

StageMemory StageLedger::MemoryOf(const StageContent& content, const InFlightPeak& peak) const {
  StageMemory out;
  out.in_flight = peak.moment;
  const StageState& state = content.held.state;
  const ChunkMemory& chunk = content.chunks[static_cast<size_t>(peak.moment.chunk)];
  const ChunkWork work = WorkOf(peak.moment, content);
  out.phase = PeakPhaseOf(work.moment);
  const Bytes copies = StepCopies(state);
  const bool step = PeaksInStep(content, peak.size, out.phase);
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
  if (context_.job.buffers.flattens_gradients_at_step) out.step_cache = copies;
  const MomentBytes bytes = work.happens ? BytesAt(chunk, work.moment) : MomentBytes();
  const bool reduces =
      work.happens && work.moment != StagePhase::kForward && work.moment != StagePhase::kLoss;
  const Bytes reduced = reduces ? content.held.reduce_bucket : Bytes(0);
  const Bytes beside = work.happens ? BesideAt(work.moment, content) - reduced : Bytes(0);
  put(LedgerKind::kActivation, peak.size - (work.happens ? work.net : Bytes(0)) - bytes.freed);
  put(LedgerKind::kTransient, bytes.added + beside + content.held.copies.whole_gradients);
  put(LedgerKind::kCommunicationBuffer,
      content.most_received + reduced + content.held.standing.total());
  return out;
}

}  // namespace sextant
