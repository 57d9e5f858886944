// The values, from those that most layouts share:
//   shapes_  the padded vocabulary; of each, placements by the layers of each chunk
//   layers_  layers and their times: sizes, kernels and recomputation (LayersKey)
//   stages_  the stages' division; of each, the state of stages (StateKey)
//   model_   all choices but the division of state; of each, chunks of the stages
// A layout that differs from the last one in the division of state alone keeps the model and its
// chunks; where that division was seen too, no layer is walked and no operation priced.
#include "engine/search/known_layouts.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/check_architecture.h"

namespace sextant {
namespace {

// The most settings of micro-batches that are kept, and their bytes: 9 KB each of models with few
// kinds of layers on one device, whose weights are not divided.
constexpr size_t kMaxKept = 16384;
constexpr size_t kMaxKeptBytes = 64 << 20;
// The most stages whose state is kept, all divisions together: of about 500 bytes.
constexpr size_t kMaxHeldStages = 65'536;
// Kinds of layers beyond these take memory of their own in each table (LayerTable).
constexpr size_t kInlinedKinds = 8;

// The most settings of micro-batches that kMaxKeptBytes allow.
size_t MostKept(const LayoutBase& base) {
  const size_t kinds = base.resolved.shape.architecture->layer_kinds.size();
  const size_t more = kinds - std::min(kinds, kInlinedKinds);
  const bool divides = absl::c_linear_search(base.space.zero_stage, ZeroStage::kParameters);
  const size_t bytes =
      sizeof(KnownLayers) + more * (sizeof(LayerCost) + sizeof(LayerWalk)) +
      kLayoutDivisions * base.devices() * sizeof(WorkTable) +
      (divides ? kLayoutDivisions : 1) * base.devices() * kinds * sizeof(WorkSeconds);
  // A quarter more is the allocator's.
  return std::clamp<size_t>(kMaxKeptBytes / (bytes + bytes / 4), 1, kMaxKept);
}

size_t DivisionOf(const MemoryJob& job) {
  const StateSharding& sharding = job.state.sharding;
  if (!DividesParameters(sharding)) return 0;
  const StateRanks ranks = StateRanksOf(job.layout, sharding, job.batch.context_parallel_size);
  return (ranks.dense > 1 ? 1 : 0) + (ranks.expert > 1 ? 2 : 0);
}

LayoutState LayoutStateOf(const MemoryJob& job) {
  return {.wide_residual = job.batch.wide_residual,
          .sharding = job.state.sharding,
          .division = DivisionOf(job)};
}

std::vector<WorkTable> TablesOf(size_t count, absl::Span<const int> alike_kinds) {
  std::vector<WorkTable> out;
  out.reserve(count);
  while (out.size() < count) out.emplace_back(alike_kinds);
  return out;
}

// Null where the vocabulary is too large.
std::shared_ptr<const CheckedModel> CheckedShape(const ArchitectureSpec& padded) {
  if (padded.embedding.padded_vocabulary_size > kMaxVocabularySize) return nullptr;
  return CheckedModel::OfSound(padded, "model").value_or(nullptr);
}

}  // namespace

KnownLayouts::KnownLayouts(const LayoutBase& base, CallWork& work)
    : base_(base), work_(work), layers_(MostKept(base)) {}

int64_t KnownLayouts::StagesOf(size_t run) const {
  const absl::Span<const KnownStages::Run> all = runs();
  const bool is_last = run + 1 == all.size();
  return (is_last ? memory().stage_count() : all[run + 1].first_stage) - all[run].first_stage;
}

absl::StatusOr<BytesInterval> KnownLayouts::PeakProcess() {
  auto process = model_->memory.PeakProcess(model_->stages->known, state_->held, work_);
  if (!process.ok()) {  // neither is sound
    state_->held.clear();
    model_->stages->known.runs.clear();
    model_->stages->known.has_chunks = false;
  }
  return process;
}

// Layouts that only divide state otherwise are refused for that alone: CheckStateSpec() and
// CheckRefusals().
bool KnownLayouts::Select(const LayoutChoice& choice) {
  const bool is_new = !model_.has_value() || model_->choice != Without<ChoicePart::kState>(choice);
  if (is_new && !SetModel(choice)) return false;
  state_ = &model_->stages->states.At(StateKeyOf(choice), [&] {
    if (is_new) return LayoutStateOf(job());
    const absl::StatusOr<MemoryModel> made = ModelOf(choice);
    return made.ok() ? LayoutStateOf(made->job()) : LayoutState{.refused = true};
  });
  if (state_->refused) return false;
  // The model's activations are those of its state.
  const bool is_other = state_->wide_residual != job().batch.wide_residual;
  if (is_other && !SetModel(choice)) return false;
  if (!is_new && !is_other) model_->memory.SetSharding(state_->sharding);
  const bool divides_gradients =
      !job().buffers.fused_weight_gradient && DividesGradients(state_->sharding);
  chunks_ = &model_->chunks.At(divides_gradients, [&] { return ChunksOf(divides_gradients); });
  return true;
}

bool KnownLayouts::SetModel(const LayoutChoice& choice) {
  absl::StatusOr<MemoryModel> made = ModelOf(choice);
  if (!made.ok()) return false;
  model_.emplace(
      LayoutModel{.choice = Without<ChoicePart::kState>(choice), .memory = *std::move(made)});
  const auto stages = static_cast<size_t>(memory().stage_count());
  model_->stages = &stages_.At(Without<ChoicePart::kMicroBatch>(model_->choice), [stages] {
    const size_t most = std::max<size_t>(kMaxHeldStages / stages, 1);
    return LayoutStages{.states = ShortMemo<StateKey, LayoutState>(most)};
  });
  return true;
}

// An error where `choice` is refused.
absl::StatusOr<MemoryModel> KnownLayouts::ModelOf(const LayoutChoice& choice) {
  JobChoice run = base_.given;
  ApplyTo(choice, base_.space.layer_count, run);
  PaddedModel& padded =
      shapes_.At(PaddedVocabularyOf(run.layout, *base_.resolved.shape.architecture),
                 [&] { return Padded(run.layout); });
  if (padded.model == nullptr) return InvalidField("model", "has too large a vocabulary");
  FieldViolations violations;
  MemoryJob job = JobOf({padded.model->spec(), base_.resolved.precision,
                         base_.run.training.optimizer, base_.resolved.generation},
                        run, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const std::vector<int64_t>& layers = job.layout.layers_per_chunk;
  LayoutCache& cache = padded.placements.At(layers, [&] { return LayoutCache(layers, work_); });
  return MemoryModel::Of(padded.model, padded.flow, std::move(job), cache);
}

PaddedModel KnownLayouts::Padded(const RunLayout& layout) const {
  const ShapedModel& shape = base_.resolved.shape;
  PaddedModel out = {.padded = PaddedShape(layout, *shape.architecture), .model = shape.checked};
  if (out.padded != nullptr) out.model = CheckedShape(*out.padded);
  if (out.model != nullptr) out.flow = MemoryModel::FlowOf(out.model->spec());
  return out;
}

StateKey KnownLayouts::StateKeyOf(const LayoutChoice& choice) const {
  const MemoryJob& job = this->job();
  const bool casts_blocks =
      job.buffers.autocast && job.batch.recomputation.policy == RecomputePolicy::kFull;
  return {.choice = Without<ChoicePart::kMicroBatch>(choice),
          .recomputed_block = casts_blocks ? choice.recompute.layers_per_block : 0,
          .single = job.pipeline.micro_batch_count == 1};
}

LayoutChunks KnownLayouts::ChunksOf(bool divides_gradients) {
  const BufferSpec& buffers = job().buffers;
  const bool counts = buffers.gradient_lifetime == GradientLifetime::kFromBackward ||
                      buffers.keeps_stage_inputs || job().pipeline.deferred_head_gradients > 0;
  KnownLayers& layers = LayersOf({.choice = Without<ChoicePart::kStages>(model_->choice),
                                  .divides_gradients = divides_gradients,
                                  .wide_residual = job().batch.wide_residual,
                                  .count = counts ? job().pipeline.micro_batch_count : 0,
                                  .vocabulary = memory().spec().embedding.padded_vocabulary_size});
  model_->stages->known.costs = &layers.costs;
  model_->stages->known.has_chunks = false;
  return {.work = *layers.work};
}

// Layers do the same work in recomputed blocks of any number.
KnownLayers& KnownLayouts::LayersOf(const LayersKey& key) {
  return layers_.At(key, [&] {
    const absl::Span<const int> alike_kinds = memory().weights().model().alike_kinds();
    LayersKey alone = key;
    alone.choice.recompute.layers_per_block = 1;
    const size_t tables = kLayoutDivisions * base_.devices();
    return KnownLayers{.costs = LayerCosts(alike_kinds),
                       .work = alone == key ? std::make_shared<std::vector<WorkTable>>(
                                                  TablesOf(tables, alike_kinds))
                                            : LayersOf(alone).work};
  });
}

}  // namespace sextant
