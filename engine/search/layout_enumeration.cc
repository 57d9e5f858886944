// Walks the product of a space's dimensions as nested loops. The outer loops are the sizes, whose
// change costs an evaluator most, the inner ones the division of state, which costs least. A size
// that does not divide what is left is dropped in its own loop, and a dimension without meaning for
// a layout has one value there. Space is constant; time is linear in the values that the loops try.
//
// Within a group the choices of micro-batch, of what is computed again with sequence parallelism,
// and of the division of state don't depend on each other, and each reason to prune is one of the
// first or of the last: a group is counted by products, without visiting its layouts.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "engine/search/layout_space.h"
#include "engine/search/state_bound.h"

namespace sextant {
namespace {

// The loops over the groups. A function returns false once the visitor has ended them.
class GroupLoops {
 public:
  GroupLoops(const LayoutSpace& space, LayoutSpace::GroupVisitor visit)
      : space_(space), visit_(visit) {}

  void Run() {
    for (const absl::optional<LossKind> loss : space_.loss) {
      loss_ = loss;
      if (!Sizes()) return;
    }
  }

 private:
  bool Sizes() {
    for (const int32_t tensor : space_.tensor) {
      for (const int32_t context : space_.context) {
        for (const int32_t pipeline : space_.pipeline) {
          const int64_t model = int64_t{pipeline} * tensor * context;
          if (space_.device_count % model != 0) continue;
          choice_ = {.tensor = tensor, .pipeline = pipeline, .context = context, .loss = loss_};
          data_ = space_.device_count / model;
          if (!Experts()) return false;
        }
      }
    }
    return true;
  }

  bool Experts() {
    const int64_t holders = data_ * choice_.context * choice_.tensor;
    for (const int32_t expert : space_.expert) {
      for (const int32_t expert_tensor : space_.expert_tensor) {
        choice_.expert = expert;
        choice_.expert_tensor = expert_tensor;
        const int64_t each = expert_tensor == 0 ? choice_.tensor : expert_tensor;
        if (holders % (expert * each) != 0) continue;
        if (expert_tensor == choice_.tensor && space_.expert_tensor.size() > 1) continue;  // as 0
        if (!Stages()) return false;
      }
    }
    return true;
  }

  bool Stages() {
    for (const PipelineSchedule schedule : space_.schedule) {
      if (choice_.pipeline == 1 && schedule != space_.schedule.front()) continue;
      for (const int32_t virtual_stages : space_.virtual_stages) {
        if (!DividesLayers(virtual_stages, schedule)) continue;
        choice_.schedule = schedule;
        choice_.virtual_stages = virtual_stages;
        if (!visit_({.sizes = choice_, .data = data_})) return false;
      }
    }
    return true;
  }

  bool DividesLayers(int64_t virtual_stages, PipelineSchedule schedule) const {
    if (virtual_stages == 1 || space_.virtual_stages.size() == 1) return true;
    return choice_.pipeline > 1 && schedule == PipelineSchedule::kOneForwardOneBackward &&
           space_.layer_count % (virtual_stages * choice_.pipeline) == 0;
  }

  const LayoutSpace& space_;
  LayoutSpace::GroupVisitor visit_;
  absl::optional<LossKind> loss_;
  LayoutChoice choice_;
  int64_t data_ = 1;
};

// The loops within a group. Layouts that `bound`, which may be null, excludes are pruned.
class LayoutLoops {
 public:
  LayoutLoops(const LayoutSpace& space, const LayoutGroup& group, const StateBound* bound,
              LayoutSpace::Visitor visit)
      : space_(space), bound_(bound), visit_(visit), choice_(group.sizes), data_(group.data) {}

  bool Run() {
    for (const int32_t micro_batch : space_.micro_batch) {
      choice_.micro_batch = micro_batch;
      batch_reason_ = ReasonOfBatch();
      if (!Passes([this] { return State(); })) return false;
    }
    return true;
  }

  // As many layouts as Run() visits.
  LayoutCounts Count() {
    LayoutCounts out;
    int64_t passes = 0;
    Passes([&passes] { return ++passes > 0; });
    PrunedCounts batches = {};
    int64_t legal = 0;
    for (const int32_t micro_batch : space_.micro_batch) {
      choice_.micro_batch = micro_batch;
      const absl::optional<Pruned> reason = ReasonOfBatch();
      ++(reason.has_value() ? batches[static_cast<size_t>(*reason)] : legal);
    }
    LayoutCounts states = {.least_bytes = std::numeric_limits<double>::infinity()};
    counts_ = &states;
    State();
    for (size_t i = 0; i < kPrunedCount; ++i) {
      out.pruned[i] = passes * (batches[i] * states.all() + legal * states.pruned[i]);
    }
    out.left = passes * legal * states.left;
    out.least_bytes = states.least_bytes;
    return out;
  }

 private:
  // Calls `each` with every choice of what is computed again, and of sequence parallelism.
  bool Passes(absl::FunctionRef<bool()> each) {
    const int64_t chunks = int64_t{choice_.pipeline} * choice_.virtual_stages;
    const int64_t layers = (space_.layer_count + chunks - 1) / chunks;
    for (const Recomputation& recompute : space_.recompute) {
      if (recompute.layers_per_block > std::max<int64_t>(layers, 1)) continue;
      for (const bool sequence_parallel : space_.sequence_parallel) {
        if (choice_.tensor == 1 && sequence_parallel != space_.sequence_parallel.front()) continue;
        choice_.recompute = recompute;
        choice_.sequence_parallel = sequence_parallel && choice_.tensor > 1;
        if (!each()) return false;
      }
    }
    return true;
  }

  bool State() {
    for (const Offload offload : space_.offload) {
      choice_.offload = offload;
      for (const ZeroStage stage : space_.zero_stage) {
        if (!Divides(stage)) continue;
        choice_.zero_stage = stage;
        if (!Shards()) return false;
        // One rank has nothing to divide: the first stage stands for all.
        if (data_ == 1 && space_.zero_stage.size() > 1) break;
      }
    }
    return true;
  }

  // Offloaded optimizers are those of a stage that divides them, if the stage is chosen at all;
  // offloaded weights those of stage 3.
  bool Divides(ZeroStage stage) const {
    if (choice_.offload == Offload::kAll && stage != ZeroStage::kParameters) return false;
    if (space_.zero_stage.size() == 1) return true;
    if (choice_.offload == Offload::kOptimizer && stage == ZeroStage::kNone) return false;
    return choice_.pipeline == 1 || stage <= space_.most_under_pipeline;
  }

  bool Shards() {
    const ZeroStage stage = choice_.zero_stage;
    for (const int32_t group : space_.shard_group) {
      if (space_.shard_group.size() > 1 && group != 0 && !Groups(stage, group)) continue;
      for (const bool stays : space_.stays_gathered) {
        if (stays && stage != ZeroStage::kParameters) continue;
        choice_.shard_group = group;
        choice_.stays_gathered = stays;
        if (!Visit()) return false;
      }
    }
    return true;
  }

  // Only where the group is a part of the ranks. The groups of frameworks (HSDP) are of stage 3.
  bool Groups(ZeroStage stage, int64_t group) const {
    if (choice_.expert > 1 || data_ % group != 0 || data_ <= group) return false;
    return stage == ZeroStage::kParameters && choice_.tensor == 1 && choice_.context == 1 &&
           choice_.pipeline == 1;
  }

  bool Visit() {
    if (counts_ != nullptr) {
      const absl::optional<Pruned> reason = ReasonOfState();
      ++(reason.has_value() ? counts_->pruned[static_cast<size_t>(*reason)] : counts_->left);
      counts_->least_bytes = std::min(counts_->least_bytes, bound_->BytesOf(choice_, data_));
      return true;
    }
    const absl::optional<Pruned> reason =
        batch_reason_.has_value() ? batch_reason_ : ReasonOfState();
    return visit_(choice_, reason.has_value() ? &*reason : nullptr);
  }

  absl::optional<Pruned> ReasonOfBatch() const {
    const int64_t unit = data_ * choice_.micro_batch;
    if (space_.batch % unit != 0) return Pruned::kBatch;
    const int64_t count = space_.batch / unit;
    const bool dual = choice_.schedule == PipelineSchedule::kDualPipe;
    if (dual && (count % 2 != 0 || count < 2 * choice_.pipeline)) return Pruned::kRounds;
    if (choice_.virtual_stages > 1 && count % choice_.pipeline != 0) return Pruned::kRounds;
    return absl::nullopt;
  }

  absl::optional<Pruned> ReasonOfState() const {
    const double parts = static_cast<double>(choice_.tensor) * choice_.pipeline * choice_.expert;
    if (choice_.zero_stage != ZeroStage::kParameters &&
        space_.weight_bytes / parts > space_.usable_bytes) {
      return Pruned::kWeights;
    }
    if (bound_ != nullptr && bound_->Excludes(choice_, data_)) return Pruned::kMemory;
    return absl::nullopt;
  }

  const LayoutSpace& space_;
  const StateBound* const bound_;
  LayoutSpace::Visitor visit_;
  LayoutChoice choice_;
  const int64_t data_;
  absl::optional<Pruned> batch_reason_;
  LayoutCounts* counts_ = nullptr;  // of states, where these are counted
};

}  // namespace

void LayoutSpace::ForEachGroup(GroupVisitor visit) const { GroupLoops(*this, visit).Run(); }

bool LayoutSpace::ForEachIn(const LayoutGroup& group, const StateBound* bound,
                            Visitor visit) const {
  return LayoutLoops(*this, group, bound, visit).Run();
}

LayoutCounts LayoutSpace::CountOf(const LayoutGroup& group, const StateBound& bound) const {
  return LayoutLoops(*this, group, &bound, [](const LayoutChoice&, const Pruned*) { return true; })
      .Count();
}

}  // namespace sextant
