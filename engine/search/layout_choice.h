// The parts of a run's layout that a search chooses, packed: each once, with the field that it sets
// and with what depends on it.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_CHOICE_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_CHOICE_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/trace/micro_batch.h"
#include "engine/model/trace/training_choices.h"
#include "engine/run/job.h"
#include "engine/run/layout_fields.h"
#include "engine/run/run_spec.h"

namespace sextant {

// State that a layout keeps in host memory, beyond what the run says.
enum class Offload {
  kNone,
  kOptimizer,  // gradients, master weights and the optimizer's numbers
  kAll,        // and ZeRO stage 3's shards of weights
};

// One layout of a space.
struct LayoutChoice {
  int32_t tensor = 1;
  int32_t pipeline = 1;
  int32_t virtual_stages = 1;
  int32_t context = 1;
  int32_t expert = 1;
  int32_t expert_tensor = 0;  // 0: as tensor
  int32_t micro_batch = 1;
  int32_t shard_group = 0;  // ranks that share out ZeRO's state; 0: all data parallel ranks
  ZeroStage zero_stage = ZeroStage::kNone;
  bool stays_gathered = false;   // ZeRO stage 3: weights, from the forward to the backward pass
  Recomputation recompute = {};  // in addition to the run's
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool sequence_parallel = false;
  Offload offload = Offload::kNone;
  absl::optional<LossKind> loss = {};  // absent: the run's

  friend bool operator==(const LayoutChoice&, const LayoutChoice&) = default;
  friend std::strong_ordering operator<=>(const LayoutChoice&, const LayoutChoice&) = default;
};

// The values that depend on a part of a choice, apart from memory and time as a whole.
enum class ChoicePart {
  kLayers,      // layers on a rank, and all below
  kStages,      // the division of layers into stages
  kMicroBatch,  // the activations of a micro-batch
  kState,       // the division of state
};

// The largest size of published runs. docs/search.md, "Beyond published runs".
struct PublishedMost {
  int64_t size = std::numeric_limits<int64_t>::max();
  absl::string_view source = "";
};

template <typename Value>
struct ChosenPart {
  Value LayoutChoice::*value;
  ChoicePart part;
  const LayoutField* field = nullptr;  // null: ApplyTo() says what it sets
  PublishedMost published = {};
};

// All members of LayoutChoice.
inline constexpr std::tuple kChosenParts = {
    ChosenPart<int32_t>{
        &LayoutChoice::tensor,
        ChoicePart::kLayers,
        &kTensorParallelField,
        {16, "nanotron, benchmark summary of the Ultra-Scale Playbook: 80B on 512 H100s"}},
    ChosenPart<int32_t>{
        &LayoutChoice::pipeline,
        ChoicePart::kStages,
        &kPipelineParallelField,
        {64, "Narayanan et al. 2021 (arXiv 2104.04473) table 1: 1T on 3,072 A100s"}},
    ChosenPart<int32_t>{
        &LayoutChoice::virtual_stages,
        ChoicePart::kStages,
        &kVirtualStagesField,
        {24, "NVIDIA Megatron-Bridge, performance summary, 25.11: Qwen3 30B-A3B on 16 H100s"}},
    ChosenPart<int32_t>{&LayoutChoice::context,
                        ChoicePart::kLayers,
                        &kContextParallelField,
                        {32, "NVIDIA NeMo, long sequence performance: Llama 2 7B on 1,024 H100s"}},
    ChosenPart<int32_t>{
        &LayoutChoice::expert,
        ChoicePart::kLayers,
        &kExpertParallelField,
        {128, "NVIDIA DGX Cloud benchmarking, v25.05.05: Llama 4 Maverick on 512 H100s"}},
    ChosenPart<int32_t>{&LayoutChoice::expert_tensor, ChoicePart::kLayers,
                        &kExpertTensorParallelField},
    ChosenPart<int32_t>{&LayoutChoice::micro_batch, ChoicePart::kMicroBatch,
                        &kMicroBatchSequencesField},
    ChosenPart<int32_t>{&LayoutChoice::shard_group, ChoicePart::kState, &kShardGroupField},
    ChosenPart<ZeroStage>{&LayoutChoice::zero_stage, ChoicePart::kState, &kStateDivisionField},
    ChosenPart<bool>{&LayoutChoice::stays_gathered, ChoicePart::kState},
    ChosenPart<Recomputation>{&LayoutChoice::recompute, ChoicePart::kMicroBatch},
    ChosenPart<PipelineSchedule>{&LayoutChoice::schedule, ChoicePart::kStages, &kScheduleField},
    ChosenPart<bool>{&LayoutChoice::sequence_parallel, ChoicePart::kMicroBatch,
                     &kSequenceParallelField},
    ChosenPart<Offload>{&LayoutChoice::offload, ChoicePart::kState},
    ChosenPart<absl::optional<LossKind>>{&LayoutChoice::loss, ChoicePart::kLayers, &kLossField},
};

template <typename H>
H AbslHashValue(H h, const LayoutChoice& choice) {
  return std::apply(
      [&](const auto&... each) { return H::combine(std::move(h), choice.*each.value...); },
      kChosenParts);
}

// `choice` with the default of all that is of `kPart`.
template <ChoicePart kPart>
LayoutChoice Without(LayoutChoice choice) {
  constexpr LayoutChoice kDefault;
  const auto reset = [&choice, &kDefault](const auto& each) {
    if (each.part == kPart) choice.*each.value = kDefault.*each.value;
  };
  std::apply([&](const auto&... each) { (reset(each), ...); }, kChosenParts);
  return choice;
}

// A size of a layout that is beyond all published runs. Views point to literals.
struct UnpublishedSize {
  absl::string_view field = "";  // of RunLayout
  int64_t size = 0;
  int64_t most = 0;  // of published runs
  absl::string_view source = "";
};

// The sizes of `choice` that no published run has; most layouts have none.
std::vector<UnpublishedSize> UnpublishedSizesOf(const LayoutChoice& choice);

// True where there are none.
bool IsPublished(const LayoutChoice& choice);

// Writes `choice` to `run`. Layers that don't divide into stages are dealt out one by one from the
// second stage on: the first holds the most activations, the last the head.
void ApplyTo(const LayoutChoice& choice, int64_t layer_count, JobChoice& run);
// The same with a run that has a layout.
void ApplyTo(const LayoutChoice& choice, int64_t layer_count, RunSpec& run);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_CHOICE_H_
