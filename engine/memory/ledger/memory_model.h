// The peak memory of each GPU of each pipeline stage, and its ledger.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/model/sharding/sharded_weights.h"
#include "engine/model/trace/gradient_flow.h"

namespace sextant {

struct StagePeak {
  int64_t stage = 0;
  StageMemory memory = {};
};

// Per-stage results of earlier layouts of a search, which had the same stages.
struct KnownStages {
  struct Run {
    int64_t first_stage = 0;
    StageContent content;
    InFlightPeak peak;  // of the run's stage with the most in flight
  };
  LayerCosts* costs = nullptr;  // of layers with the same micro-batches
  std::vector<Run> runs;        // of stages that are alike, in their order; empty: not known
  bool has_chunks = false;      // of `runs`, from a job with the same micro-batches
};

// A model and a job, checked and prepared. The exact total of a stage is
//
//   model state + activations in flight + transients + communication buffers + framework reserve
//
// at the point of a step when this sum is largest. docs/memory.md, "A stage's ledger", derives each
// term.
class MemoryModel {
 public:
  // `spec` outlives the result.
  //
  // Errors: kInvalidArgument with all errors, under the paths of a run request: "model",
  // "layout...", "training...".
  static absl::StatusOr<MemoryModel> Of(const ArchitectureSpec& spec, MemoryJob job);
  // The same of a model that was checked before, whose specification outlives the result.
  static absl::StatusOr<MemoryModel> Of(std::shared_ptr<const CheckedModel> model, MemoryJob job);
  // The same, with `flow`, FlowOf() its specification, and a layout that may be in `cache`. The
  // job's layers_per_chunk is not read: that of the cache stands for it.
  //
  // Errors: kInvalidArgument, of the layout or the job.
  static absl::StatusOr<MemoryModel> Of(std::shared_ptr<const CheckedModel> model,
                                        std::shared_ptr<const GradientFlow> flow, MemoryJob job,
                                        LayoutCache& cache);
  // Null where everything is trained.
  static std::shared_ptr<const GradientFlow> FlowOf(const ArchitectureSpec& spec);

  const ArchitectureSpec& spec() const { return *spec_; }
  const MemoryJob& job() const { return job_; }
  const ShardedWeights& weights() const { return weights_; }
  // Null where everything is trained.
  const GradientFlow* flow() const { return flow_.get(); }
  int64_t stage_count() const { return weights_.stage_count(); }
  // Chunks of layers of a stage: two under DualPipe, where the second is the opposite stage's.
  int64_t chunk_count() const { return in_flight_.chunk_count(); }

  // The same model under another job, whose layout may be in `cache`: see Of().
  absl::StatusOr<MemoryModel> With(MemoryJob job, LayoutCache& cache) const;

  // Divides the state otherwise, as another job that has been checked does.
  void SetSharding(const StateSharding& sharding);

  // True where `stage` differs from the previous one only in micro-batches in flight. False is
  // always safe, only slower: models with two stacks or frozen parts have no such stages.
  bool IsAsBefore(int64_t stage) const;

  // Memory of `stage`. Rows appended to `rows` add up to total(); null: nothing is allocated where
  // the model has at most 8 kinds of layers, and the stage few chunks and runs of layers.
  //
  // Errors: kInvalidArgument where a sum exceeds 9.2e18 bytes; `work`'s, where it is given.
  absl::StatusOr<StageMemory> Stage(int64_t stage, LedgerRows* rows = nullptr,
                                    CallWork* work = nullptr) const;

  // Calls visit(stage, memory, rows) for every stage in turn, with its rows where `with_rows`, and
  // ends with the first error. Computes what stages share once.
  //
  // Errors: Stage()'s, and those of `visit`.
  using StageVisitor =
      absl::FunctionRef<absl::Status(int64_t stage, const StageMemory& memory, LedgerRows rows)>;
  absl::Status ForEachStage(bool with_rows, CallWork& work, StageVisitor visit) const;

  // State in host memory on the fullest server, with `stage_devices` devices a stage
  // and `server_devices` a server. Errors: Stage()'s, and those of `work`.
  absl::StatusOr<Bytes> HostNeed(int64_t stage_devices, int64_t server_devices,
                                 CallWork& work) const;

  // The peak of the stage that holds the most, or the first of several. Computes the shared
  // content of a run of identical stages once. Allocates nothing where Stage() allocates nothing.
  absl::StatusOr<StagePeak> Peak() const;
  // The process's memory of that stage, with what is known of the layout's stages and of their
  // holdings, those of a job that divides the same stages alike, in the order of known.runs. Fills
  // in what is empty of both; `work` counts that. After an error both are of no use.
  absl::StatusOr<BytesInterval> PeakProcess(KnownStages& known, std::vector<StageHoldings>& held,
                                            CallWork& work) const;
  // Peak(), or the first stage that `is_enough` accepts, if any.
  using StageTest = absl::FunctionRef<bool(const StageMemory&)>;
  absl::StatusOr<StagePeak> PeakOrFirst(StageTest is_enough, CallWork& work) const;

 private:
  MemoryModel(const ArchitectureSpec& spec, MemoryJob job, ShardedWeights weights,
              std::shared_ptr<const GradientFlow> flow);

  LedgerContext ContextOf(CallWork& work) const;
  // Moves `peak`, of chunks whose work has `grown` since. Returns false where another phase may be
  // the peak now.
  bool Move(const absl::optional<Bytes>& grown, InFlightPeak& peak) const;
  // Finds the stage with the most in flight, of `first` and the identical stages after it, whose
  // chunks weigh `weights`.
  absl::Status FullestOfRun(int64_t first, absl::Span<const ChunkBytes> weights, int64_t& stage,
                            InFlightPeak& peak) const;

  const ArchitectureSpec* spec_;
  MemoryJob job_;
  ShardedWeights weights_;
  InFlight in_flight_;
  std::shared_ptr<const GradientFlow> flow_;  // null where everything is trained
  StateRules state_rules_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
