// Computes memory and time of the layouts of one run, and keeps what layouts share.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/run/run_steps.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_predictor.h"
#include "engine/search/layout_space.h"
#include "engine/search/state_bound.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// A layout whose memory and step were computed.
struct LayoutOption {
  LayoutChoice choice = {};
  SecondsInterval step = {};
  BytesInterval process = {};  // of the stage that holds the most
  double fit_chance = 0;
  Verdict verdict = Verdict::kDoesNotFit;
};

// Evaluates layouts one after another, each as PlanRun() would, to the last digit. Fastest in the
// order of LayoutSpace::ForEachGroup(). Complete() and SecondsWhere() refer to the layout of the
// last Evaluate(), so calls must match the regexp: Prepare (Evaluate Complete? SecondsWhere*)*
class LayoutEvaluator {
 public:
  // `run` has a layout. `work` outlives this.
  LayoutEvaluator(RunSpec run, CallWork& work);
  LayoutEvaluator(const LayoutEvaluator&) = delete;
  LayoutEvaluator& operator=(const LayoutEvaluator&) = delete;

  // `found`: see PlanRun(). `offloads`: the space is that of layouts that keep
  // state in host memory. Errors: those of Resolve() and PlanStep().
  absl::Status Prepare(FieldViolations found, bool offloads = false);

  const LayoutSpace& space() const { return space_; }
  const StateBound& bound() const { return bound_; }
  // Why no step can be predicted; empty: steps can be.
  const MissingField& untimed() const { return untimed_; }
  // Why no step that offloads can be predicted.
  MissingField untimed_offload() const { return MissingForOffload(resolved_); }

  // Absent: the framework or the shape refuses it, or its step can't be predicted. Without a step
  // where it does not fit, unless `times_all`; a step has no interval before Complete(). Errors: of
  // `work`.
  absl::StatusOr<absl::optional<LayoutOption>> Evaluate(const LayoutChoice& choice,
                                                        int64_t layer_count,
                                                        bool times_all = false);

  // Sets the interval of the step of `option`, which was evaluated last, if it has a step.
  void Complete(LayoutOption& option) const;

  // The step of the layout that was evaluated last, which has one, if all times of `rate` were
  // `slowness` times as long. Ignores `measured_step`.
  Seconds SecondsWhere(StepRate rate, double slowness) const;

 private:
  // The choices that the layers' activations and operations depend on.
  struct MicroBatchKey {
    int32_t tensor = 0;
    int32_t context = 0;
    int32_t expert = 0;
    int32_t expert_tensor = 0;
    int32_t micro_batch = 0;
    RecomputeChoice recompute = {};
    KernelChoice kernels = {};
    bool sequence_parallel = false;
    bool divides_gradients = false;  // where that changes transients
    int64_t count = 0;               // micro-batches, where something depends on their number
    int64_t vocabulary = 0;

    friend bool operator==(const MicroBatchKey&, const MicroBatchKey&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const MicroBatchKey& key) {
      return H::combine(std::move(h), key.tensor, key.context, key.expert, key.expert_tensor,
                        key.micro_batch, key.recompute, key.kernels, key.sequence_parallel,
                        key.divides_gradients, key.count, key.vocabulary);
    }
  };
  // The choices that the stages' state depends on.
  struct HoldingsKey {
    ZeroStage zero_stage = ZeroStage::kNone;
    int32_t shard_group = 0;
    bool stays_gathered = false;
    Offload offload = Offload::kNone;
    int32_t recomputed_block = 0;  // layers, where that changes their casts; 0: not whole layers
    bool single = false;           // one micro-batch a step

    friend bool operator==(const HoldingsKey&, const HoldingsKey&) = default;
  };

  // An index of whether the parameters of dense layers, and of experts, are divided: divided
  // gradients are reduced, not added up.
  static constexpr size_t kDivisions = 4;
  size_t Division() const;

  // Results for layers with the same micro-batches.
  struct MicroBatches {
    explicit MicroBatches(absl::Span<const int> alike_kinds) : costs(alike_kinds) {}
    LayerCosts costs;
    std::shared_ptr<std::vector<WorkTable>> work;  // by division and device
  };
  // Results for stages with the same state, in the order of KnownStages::runs.
  struct Holdings {
    HoldingsKey key = {};
    bool refused = false;
    std::vector<StageHoldings> held = {};
    std::vector<std::vector<StateSeconds>> seconds = {};  // by device; empty: not computed yet
    absl::optional<ExchangePricer> exchanges = {};        // among the ranks that share it
  };
  // Layouts with the same layers in their chunks; none: as many in each.
  struct Placements {
    Placements(std::vector<int64_t> layers, CallWork& work)
        : layers_per_chunk(std::move(layers)), cache(layers_per_chunk, work) {}
    const std::vector<int64_t> layers_per_chunk;
    LayoutCache cache;
  };
  // A shape with its vocabulary padded, and what layouts of it share.
  struct Base {
    std::shared_ptr<const ArchitectureSpec> padded;  // null: as it is
    absl::optional<MemoryModel> model = {};
    absl::flat_hash_map<std::vector<int64_t>, std::unique_ptr<Placements>> placements = {};
  };

  // The division of state aside, `choice` is the layout of the last model.
  bool IsOfModel(const LayoutChoice& choice) const;
  absl::Status SetModel(const LayoutChoice& choice, int64_t layer_count);
  void ResetState();
  absl::Status MakeModel();
  Base& BaseFor(int64_t padded_vocabulary);
  HoldingsKey HoldingsKeyOf(const LayoutChoice& choice) const;
  MicroBatchKey MicroBatchKeyOf(const LayoutChoice& choice) const;
  void SelectStages(const LayoutChoice& choice);
  void SelectMicroBatches(const MicroBatchKey& key);
  // The most settings of micro-batches that kMaxKeptBytes allow.
  size_t MaxKept() const;
  MicroBatches& MicroBatchesOf(const MicroBatchKey& key);
  Holdings& HoldingsOf(const HoldingsKey& key);
  absl::StatusOr<BytesInterval> PeakProcess();
  Verdict HostVerdict() const;
  void PrepareStep();
  StepInput Step() const;  // that was prepared
  absl::Status Calibrate();
  void FillTimes(size_t device, size_t table, const StageTimeInput& in);

  RunSpec run_;
  ResolvedRun resolved_;  // points into run_
  CallWork& work_;
  LayoutSpace space_;
  StateBound bound_;
  MissingField untimed_;
  const RecomputePolicy given_recompute_;
  const Recomputation given_parts_;
  const absl::optional<bool> given_reshard_;
  const StateSharding given_sharding_;
  std::vector<Base> bases_;
  std::unique_ptr<const StepPredictor> predictor_;  // null: steps can't be predicted
  std::vector<PricedOperations> priced_;            // by device
  std::vector<std::pair<RecomputePolicy, MeasuredRatio>> measured_;  // by the run's policy

  absl::flat_hash_map<MicroBatchKey, std::unique_ptr<MicroBatches>> micro_batches_;
  LayoutChoice choice_;  // of the model
  MicroBatchKey micro_batch_key_;
  MicroBatches* selected_ = nullptr;  // of micro_batch_key_
  KnownStages known_;
  // Stage times of `known_`, indexed by [division, device], excluding state.
  std::vector<std::vector<StageTime>> times_;
  std::vector<KnownStep> steps_;    // of times_
  size_t slowest_ = 0;              // the index of the times_ that decide
  StepEstimate step_;               // of the layout that was evaluated last
  std::vector<Holdings> holdings_;  // of stages that are divided like known_
  Holdings* held_ = nullptr;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_EVALUATOR_H_
