// Values that the layouts of a run share, each kept by all that it depends on.
#ifndef SEXTANT_ENGINE_SEARCH_KNOWN_LAYOUTS_H_
#define SEXTANT_ENGINE_SEARCH_KNOWN_LAYOUTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/run/job.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/step_predictor.h"
#include "engine/search/layout_choice.h"
#include "engine/search/layout_space.h"
#include "engine/search/memo.h"
#include "engine/search/state_bound.h"
#include "engine/time/step_time.h"

namespace sextant {

// A run without its layouts.
struct LayoutBase {
  RunSpec run;
  ResolvedRun resolved = {};  // points into `run`
  LayoutSpace space = {};
  StateBound bound = {};
  MissingField untimed = {};
  std::unique_ptr<const StepPredictor> predictor = {};  // null: steps can't be predicted
  JobChoice given = {};

  size_t devices() const { return predictor == nullptr ? 0 : predictor->devices().size(); }
};

// Parameters of dense layers, and of experts, are divided or not: divided gradients are reduced,
// not added up.
inline constexpr size_t kLayoutDivisions = 4;

// A shape with its vocabulary padded.
struct PaddedModel {
  std::shared_ptr<const ArchitectureSpec> padded;  // null: as it is
  std::shared_ptr<const CheckedModel> model;       // null: too large
  std::shared_ptr<const GradientFlow> flow = nullptr;
  // By the layers of each chunk; none: as many in each.
  ShortMemo<std::vector<int64_t>, LayoutCache> placements = {};
};

// The key of the layers' activations and operations.
struct LayersKey {
  LayoutChoice choice = {};        // without state and stages
  bool divides_gradients = false;  // where that changes transients
  bool wide_residual = false;      // by which state, too, changes activations
  int64_t count = 0;               // micro-batches, where something depends on their number
  int64_t vocabulary = 0;          // as padded; 0: as it is

  friend bool operator==(const LayersKey&, const LayersKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LayersKey& key) {
    const auto& [chosen, divides, wide, batches, padded] = key;  // all: else this is an error
    return H::combine(std::move(h), chosen, divides, wide, batches, padded);
  }
};

// Costs and times of layers with the same micro-batches.
struct KnownLayers {
  LayerCosts costs;
  std::shared_ptr<std::vector<WorkTable>> work;  // by division and device
};

// The key of the stages' state.
struct StateKey {
  LayoutChoice choice = {};      // without micro-batches and their recomputation
  int64_t recomputed_block = 0;  // layers, where that changes their casts; 0: not whole layers
  bool single = false;           // one micro-batch a step

  friend bool operator==(const StateKey&, const StateKey&) = default;
};

// A division of state. Of stages that are alike, in the order of KnownStages::runs.
struct LayoutState {
  bool refused = false;  // by the framework, or the shape
  bool wide_residual = false;
  StateSharding sharding = {};
  size_t division = 0;
  std::vector<StageHoldings> held = {};                 // empty: not known yet
  std::vector<std::vector<StateSeconds>> seconds = {};  // by device; empty: likewise
  absl::optional<ExchangePricer> exchanges = {};        // among the ranks that share it
};

// The stages of layouts that differ in nothing but micro-batches and state.
struct LayoutStages {
  ShortMemo<StateKey, LayoutState> states;
  KnownStages known = {};  // with the chunks of the LayoutChunks that was made last
};

// The times of micro-batches on the stages of a model.
struct LayoutChunks {
  std::vector<WorkTable>& work;                    // by division and device
  std::vector<std::vector<StageTime>> times = {};  // likewise; without state
  // Those of `times` that were asked for.
  std::vector<absl::optional<KnownStep>> steps = {};
};

// Layouts that differ in nothing but the division of state.
struct LayoutModel {
  LayoutChoice choice = {};  // without state
  MemoryModel memory;        // of the last of them
  LayoutStages* stages = nullptr;
  LastMemo<bool, LayoutChunks> chunks = {};  // by whether gradients are divided
};

// Keeps values of the layout that was selected last, and of earlier ones. Every key has all choices
// but those that its value does not depend on.
class KnownLayouts {
 public:
  // Both outlive this.
  KnownLayouts(const LayoutBase& base, CallWork& work);

  // Finds, or computes, what is known of `choice`; false: it is refused.
  bool Select(const LayoutChoice& choice);

  // These are about the layout that was selected last, which was not refused.
  const MemoryModel& memory() const { return model_->memory; }
  const MemoryJob& job() const { return model_->memory.job(); }
  LayoutState& state() const { return *state_; }
  LayoutChunks& chunks() const { return *chunks_; }
  absl::Span<const KnownStages::Run> runs() const { return model_->stages->known.runs; }
  // The number of stages that are as the `run`th of runs().
  int64_t StagesOf(size_t run) const;

  // The memory of the layout's fullest stage. Errors: those of MemoryModel::PeakProcess(), which
  // leave no layout selected.
  absl::StatusOr<BytesInterval> PeakProcess();

 private:
  bool SetModel(const LayoutChoice& choice);
  absl::StatusOr<MemoryModel> ModelOf(const LayoutChoice& choice);
  PaddedModel Padded(const RunLayout& layout) const;
  StateKey StateKeyOf(const LayoutChoice& choice) const;
  LayoutChunks ChunksOf(bool divides_gradients);
  KnownLayers& LayersOf(const LayersKey& key);

  const LayoutBase& base_;
  CallWork& work_;
  ShortMemo<int64_t, PaddedModel> shapes_;  // by the vocabulary's padded size; 0: as it is
  Memo<LayersKey, KnownLayers> layers_;
  LastMemo<LayoutChoice, LayoutStages> stages_;
  absl::optional<LayoutModel> model_;
  LayoutState* state_ = nullptr;
  LayoutChunks* chunks_ = nullptr;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_KNOWN_LAYOUTS_H_
