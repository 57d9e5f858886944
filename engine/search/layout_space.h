// The layouts that a search may choose: what a run's layout gives is kept, what it leaves open is
// a dimension of the space.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_SPACE_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_SPACE_H_

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_choice.h"

namespace sextant {

// Why a considered layout was excluded.
enum class Pruned {
  kBatch,    // the batch is not a multiple of micro-batches on all ranks
  kRounds,   // interleaved stages take as many micro-batches at a time as there are stages
  kWeights,  // the weights alone exceed a device
  kRefused,  // the framework, or the model's shape, doesn't allow it
  kMemory,   // it does not fit
};
inline constexpr size_t kPrunedCount = 5;

using PrunedCounts = std::array<int64_t, kPrunedCount>;

// The layouts of a space that have these sizes, kernels and schedule.
struct LayoutGroup {
  LayoutChoice sizes = {};  // the choices that the group leaves open have any value
  int64_t data = 1;         // data parallel ranks
};

inline constexpr int64_t kStepsAGroup = 20;  // of CallWork, to count one

struct LayoutCounts {
  PrunedCounts pruned = {};
  int64_t left = 0;
  double least_bytes = 0;  // the least that a StateBound says of any

  int64_t all() const { return std::accumulate(pruned.begin(), pruned.end(), left); }
};

class StateBound;

// The values of each dimension. Sizes are ascending.
struct LayoutSpace {
  int64_t device_count = 1;
  int64_t batch = 1;  // sequences of a step
  int64_t sequence_length = 1;
  int64_t layer_count = 1;
  int64_t node_devices = 1;  // of one server
  int64_t expert_count = 0;
  double weight_bytes = 0;   // of all weights as computed
  double usable_bytes = 0;   // of one device
  bool interleaves = false;  // the framework has interleaved stages
  bool is_unfused = false;   // attention, in separate kernels, where kernels are searched
  ZeroStage most_under_pipeline = ZeroStage::kParameters;
  std::vector<int32_t> tensor = {};
  std::vector<int32_t> pipeline = {};  // divide the devices; more than the layers are left out
  std::vector<int32_t> virtual_stages = {};
  std::vector<int32_t> context = {};
  std::vector<int32_t> expert = {};
  std::vector<int32_t> expert_tensor = {};
  std::vector<int32_t> micro_batch = {};
  std::vector<int32_t> shard_group = {};
  std::vector<ZeroStage> zero_stage = {};
  std::vector<bool> stays_gathered = {};
  std::vector<Recomputation> recompute = {};
  std::vector<PipelineSchedule> schedule = {};
  std::vector<bool> sequence_parallel = {};
  std::vector<Offload> offload = {};
  std::vector<absl::optional<LossKind>> loss = {};

  // Calls `visit` with every group of layouts whose sizes divide the devices, in one order. Ends
  // where `visit` returns false.
  using GroupVisitor = absl::FunctionRef<bool(const LayoutGroup&)>;
  void ForEachGroup(GroupVisitor visit) const;

  // The same with the layouts of a group, and whether counting alone prunes them, or `bound`, which
  // may be null. Returns false where `visit` ended it. A dimension that means nothing for a layout
  // has one value there: one expert's ranks without experts, no sequence parallelism without tensor
  // parallel ranks.
  using Visitor = absl::FunctionRef<bool(const LayoutChoice&, const Pruned* pruned)>;
  bool ForEachIn(const LayoutGroup& group, const StateBound* bound, Visitor visit) const;
  // The layouts of `group` that ForEachIn() visits, counted at the cost of a few.
  LayoutCounts CountOf(const LayoutGroup& group, const StateBound& bound) const;
};

// Device and model properties that bound the space.
struct SpaceContext {
  const ArchitectureSpec& spec;
  int64_t parameter_count = 0;
  int64_t weight_bytes_each = 2;
  int64_t node_devices = 1;
  Bytes usable = Bytes(0);
  AttentionKernel attention = AttentionKernel::kFlash;  // where the layout does not say
  bool offloads = false;  // the layouts that keep state in host memory; else those that don't
};

// False where the framework has no such layouts, or the run says itself what it offloads.
bool MayOffload(const RunSpec& run);

// The space of `run`, which has a layout with a global batch, and a sequence length.
LayoutSpace SpaceOf(const RunSpec& run, const SpaceContext& context);

// Rules of thumb, which decide the order of a search and nothing else. The time of a step over that
// without any loss, by what its group has: the bubble, and exchanges.
double GuessOf(const LayoutGroup& group, const LayoutSpace& space);

// The same of a layout of `group` over that of the group: what a micro-batch, its recomputation and
// the division of state change.
double GuessWithin(const LayoutChoice& choice, const LayoutGroup& group, const LayoutSpace& space);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_SPACE_H_
