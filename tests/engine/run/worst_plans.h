// Legal runs that are as expensive to plan as the limits of requests allow.
#ifndef SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_
#define SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/run/run_spec.h"
#include "engine/run/run_steps.h"

namespace sextant {

struct WorstPlan {
  std::string name;
  RunSpec run;
};

namespace worst_plans {

constexpr int64_t kHeads = 64;
constexpr int64_t kDevices = 1 << 19;
constexpr int64_t kMaxStages = kMaxPipelineParallelSize;

enum class KindsAre { kDistinct, kAlike };

// Adapters of every matrix of KindOf().
inline AdapterSpec AllAdapters() {
  AdapterSpec out = {.rank = 2};
  for (const char* name : {"query", "key", "value", "output"}) {
    out.targets.push_back({"attention", name});
  }
  for (const char* module : {"feed_forward", "experts", "shared_experts"}) {
    for (const char* name : {"gate", "up", "down"}) out.targets.push_back({module, name});
  }
  return out;
}

inline LayerSpec KindOf(int64_t number, KindsAre kinds) {
  const int64_t size = kinds == KindsAre::kAlike ? 1 : 1 + number;
  LayerSpec out = {.name = absl::StrCat("kind ", number), .norm = NormVariant::kRmsNorm};
  out.attention = {.head_count = kHeads,
                   .key_value_head_count = kHeads,
                   .query_key_head_size = 8,
                   .value_head_size = 8};
  out.experts = {.expert_count = 256,
                 .experts_per_token = 2,
                 .expert = {.kind = FeedForwardKind::kGated, .size = kHeads},
                 .shared_expert_count = 1,
                 .shared_expert = {.kind = FeedForwardKind::kGated, .size = kHeads}};
  out.feed_forward = {.kind = FeedForwardKind::kGated, .size = kHeads * size};
  return out;
}

// `runs` runs that take turns among `kinds` kinds from `first` on.
inline std::vector<LayerRun> TurnsOf(int64_t runs, int64_t layers, int first, int kinds) {
  std::vector<LayerRun> out;
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t count = layers / runs + (i < layers % runs ? 1 : 0);
    // Neighbouring rounds differ in their order, so that few stages are alike.
    const int64_t turn = (i + i / kinds) % kinds;
    out.push_back({.layer_kind = first + static_cast<int>(turn), .count = count});
  }
  return out;
}

struct WorstShape {
  int kinds = static_cast<int>(kMaxLayerKinds);
  KindsAre differ = KindsAre::kDistinct;
  int64_t runs = kMaxLayerRuns;
  int64_t layers = kMaxLayerRuns;
  int64_t stages = 1;
  int64_t virtual_stages = 1;
  bool uneven = false;  // layers_per_chunk is given
  bool two_stacks = false;
  bool frozen = false;   // every other run
  bool adapted = false;  // adapters of every matrix, ZeRO stage 3, 8-bit optimizer state
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool timed = false;  // a global batch is given, so that the step is predicted
  int phases = 0;      // of a ramp, each with another batch
};

inline ArchitectureSpec ModelOf(const WorstShape& shape) {
  ArchitectureSpec out = {.hidden_size = kHeads,
                          .norm = NormVariant::kRmsNorm,
                          .embedding = {.vocabulary_size = 65'536},
                          .output = {.head = OutputHeadKind::kUntied}};
  for (int i = 0; i < shape.kinds; ++i) out.layer_kinds.push_back(KindOf(i, shape.differ));
  const int decoder_kinds = shape.two_stacks ? shape.kinds / 2 : shape.kinds;
  out.decoder.layers = TurnsOf(shape.runs, shape.layers, 0, decoder_kinds);
  if (shape.two_stacks) {
    out.encoder.layers = TurnsOf(shape.runs, shape.layers, decoder_kinds, decoder_kinds);
    for (int i = 0; i < shape.kinds; ++i) {
      LayerSpec& kind = out.layer_kinds[static_cast<size_t>(i)];
      if (i >= decoder_kinds) kind.attention->mask = AttentionMask::kFull;
      if (i >= decoder_kinds) continue;
      kind.cross_attention = kind.attention;
      kind.cross_attention->mask = AttentionMask::kFull;
      kind.norms.before_cross_attention = true;
    }
  }
  if (shape.adapted) out.adapters = AllAdapters();
  for (size_t i = 0; shape.frozen && i < out.decoder.layers.size(); i += 2) {
    out.decoder.layers[i].frozen = true;
  }
  return out;
}

inline RunLayout LayoutOf(const WorstShape& shape, const ArchitectureSpec& model,
                          int64_t micro_batch_size) {
  RunLayout out;
  out.parallel.pipeline_parallel_size = shape.stages;
  out.parallel.virtual_stage_count = shape.virtual_stages;
  const int64_t layers = LayerCountOf(model.encoder) + LayerCountOf(model.decoder);
  const int64_t chunks = shape.stages * shape.virtual_stages;
  if (shape.uneven || layers % chunks != 0) {
    auto& list = out.parallel.layers_per_chunk;
    for (int64_t i = 0; i < chunks; ++i) {
      list.push_back(layers * (i + 1) / chunks - layers * i / chunks);
    }
    for (size_t i = 4; i + 4 < list.size(); i += 3) {
      const int64_t moved = list[i] / 2;
      list[i] -= moved;
      list[i + 1] += moved;
    }
  }
  out.schedule = shape.schedule;
  out.micro_batch_size = micro_batch_size;
  if (shape.timed || shape.schedule == PipelineSchedule::kGPipe) {
    out.global_batch_size = 2 * micro_batch_size * kDevices;
  }
  out.attention = AttentionKernel::kUnfused;
  out.kernels.loss = LossKind::kPlain;
  out.framework.kind = Framework::kPytorchFsdp;
  out.zero_stage = shape.adapted ? ZeroStage::kParameters : ZeroStage::kNone;
  if (shape.adapted) out.sharding.prefetched_unit_count = 3;
  return out;
}

inline RunSpec RunOf(const WorstShape& shape, bool fits) {
  const int64_t sequence_length = fits ? 64 : 4096;
  RunSpec run;
  run.model.architecture = ModelOf(shape);
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = sequence_length;
  if (shape.two_stacks) run.training.encoder_sequence_length = sequence_length;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = kDevices;
  run.cluster.device_memory_bytes = fits ? 10'000'000'000'000 : int64_t{1} << 30;
  run.layout = LayoutOf(shape, *run.model.architecture, fits ? 1 : 64);
  run.options.full = true;
  if (shape.timed) run.cluster.node_type = "dgx-h100";
  for (int i = 1; i <= shape.phases; ++i) {
    run.layout->batch_ramp.push_back(
        {.token_count = 1'000'000, .global_batch_size = i * *run.layout->global_batch_size});
  }
  if (shape.adapted) run.training.optimizer = {.kind = OptimizerKind::kAdam8bit};
  return run;
}

inline void AddAll(const std::string& name, const WorstShape& shape, std::vector<WorstPlan>& out) {
  out.push_back({absl::StrCat(name, ", fits"), RunOf(shape, true)});
  out.push_back({absl::StrCat(name, ", does not fit"), RunOf(shape, false)});
  WorstShape timed = shape;
  timed.timed = true;
  out.push_back({absl::StrCat(name, ", timed"), RunOf(timed, true)});
  out.push_back({absl::StrCat(name, ", timed, does not fit"), RunOf(timed, false)});
  timed.phases = static_cast<int>(kMaxBatchPhases);
  out.push_back({absl::StrCat(name, ", ramped"), RunOf(timed, true)});
}

using NamedShape = std::pair<const char*, WorstShape>;

inline std::vector<NamedShape> OneChunkShapes() {
  std::vector<NamedShape> out = {
      {"one stage", {}},
      {"one stage of alike kinds", {.differ = KindsAre::kAlike}},
      {"one stage of one kind", {.kinds = 1}},
      {"one stage, frozen", {.frozen = true}},
      {"one stage, adapted", {.frozen = true, .adapted = true}},
      {"all stages, adapted",
       {.layers = 1 << 16, .stages = kMaxStages, .frozen = true, .adapted = true}},
      {"one stage of two stacks", {.two_stacks = true}},
      {"all stages of two stacks", {.stages = kMaxStages, .uneven = true, .two_stacks = true}},
      {"all stages, frozen", {.layers = 1 << 16, .stages = kMaxStages, .frozen = true}}};
  constexpr std::pair<const char*, PipelineSchedule> kSchedules[] = {
      {"1f1b", PipelineSchedule::kOneForwardOneBackward},
      {"gpipe", PipelineSchedule::kGPipe},
      {"zb_h1", PipelineSchedule::kZeroBubbleH1},
      {"zb_h2", PipelineSchedule::kZeroBubbleH2},
      {"dualpipe", PipelineSchedule::kDualPipe}};
  for (const auto& [name, schedule] : kSchedules) {
    out.push_back(
        {name, {.layers = 1 << 16, .stages = kMaxStages, .uneven = true, .schedule = schedule}});
  }
  return out;
}

inline std::vector<NamedShape> InterleavedShapes() {
  return {{"many chunks", {.stages = 4, .virtual_stages = 1024}},
          {"many chunks of alike kinds",
           {.differ = KindsAre::kAlike, .stages = 4, .virtual_stages = 1024}},
          {"many chunks, frozen", {.stages = 4, .virtual_stages = 1024, .frozen = true}},
          {"many chunks, adapted",
           {.stages = 4, .virtual_stages = 1024, .frozen = true, .adapted = true}},
          {"all chunks on two stages",
           {.layers = 1 << 16, .stages = 2, .virtual_stages = kMaxChunks / 2, .uneven = true}},
          {"all chunks on all stages",
           {.layers = 1 << 16,
            .stages = kMaxStages,
            .virtual_stages = kMaxChunks / kMaxStages,
            .uneven = true}},
          {"all chunks on all stages, frozen",
           {.layers = 1 << 16,
            .stages = kMaxStages,
            .virtual_stages = kMaxChunks / kMaxStages,
            .uneven = true,
            .frozen = true}}};
}

}  // namespace worst_plans

// Many kinds of layers on many stages, whose step is predicted.
inline RunSpec TimedWorstPlan() {
  return worst_plans::RunOf({.layers = 1 << 16,
                             .stages = worst_plans::kMaxStages,
                             .frozen = true,
                             .adapted = true,
                             .timed = true},
                            true);
}

// Runs at the limits of layer kinds, runs of layers, stages and chunks, under every schedule, in
// one stack and in two, trained whole and in part; each once where it fits, once where the search
// for changes runs to its end, once with the time of its step, and once with a ramp.
inline std::vector<WorstPlan> WorstPlans() {
  std::vector<WorstPlan> out;
  for (const auto& [name, shape] : worst_plans::OneChunkShapes())
    worst_plans::AddAll(name, shape, out);
  for (const auto& [name, shape] : worst_plans::InterleavedShapes())
    worst_plans::AddAll(name, shape, out);
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_
