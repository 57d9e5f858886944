// Random jobs of random models.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_

#include <cstdint>
#include <random>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/architecture/architecture_spec.h"
#include "tests/engine/model/sharding/random_sharding.h"

namespace sextant {

struct RandomJob {
  ArchitectureSpec spec;
  MemoryJob job;
};

class JobDraw {
 public:
  explicit JobDraw(uint32_t seed) : random_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  MicroBatchSpec Batch(const ArchitectureSpec& spec, const ParallelLayout& layout) {
    MicroBatchSpec out;
    out.context_parallel_size = Between(1, 2);
    const int64_t ranks = out.context_parallel_size * layout.tensor_parallel_size;
    out.sequence_count = Between(1, 3);
    out.sequence_length = ranks * Between(1, 8);
    const bool two = !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
    if (two) out.encoder_sequence_length = ranks * Between(1, 6);
    out.sequence_parallel = Between(0, 1) == 1;
    out.dropout = Between(0, 1) == 1;
    out.attention = Between(0, 1) == 1 ? AttentionKernel::kFlash : AttentionKernel::kUnfused;
    constexpr LossKind kLosses[] = {LossKind::kPlain, LossKind::kVocabularyParallel,
                                    LossKind::kFused, LossKind::kVocabularyParallelCompiled};
    out.loss = kLosses[Between(0, 3)];
    out.recomputation.policy = static_cast<RecomputePolicy>(Between(0, 2));
    if (out.recomputation.policy == RecomputePolicy::kFull) {
      out.recomputation.layers_per_block = Between(1, 3);
    } else {
      out.recomputation.activation_function = Between(0, 1) == 1;
      out.recomputation.norm_outputs = Between(0, 1) == 1;
    }
    return out;
  }

  StateSpec State(const ParallelLayout& layout) {
    StateSpec out = {.precision = WithDefaults(PrecisionPolicy())};
    const int64_t holders = layout.expert_parallel_size * ExpertTensorParallelSize(layout);
    out.sharding.data_parallel_size = holders * Between(1, 2);
    out.sharding.zero_stage = static_cast<ZeroStage>(Between(0, 3));
    out.sharding.offload_optimizer = Between(0, 3) == 0;
    out.optimizer.kind = static_cast<OptimizerKind>(Between(0, 9));
    return out;
  }

  // A policy of the weights' type, and of gradients or weights with copies.
  PrecisionPolicy Precision() {
    constexpr PrecisionPolicy kPolicies[] = {
        {}, {.gradient_data_type = DataType::kFp32}, {.weight_data_type = DataType::kFp32}};
    return WithDefaults(kPolicies[Between(0, 2)]);
  }

  PipelineSpec Pipeline(const ParallelLayout& layout) {
    PipelineSpec out;
    out.micro_batch_count = 2 * layout.pipeline_parallel_size * Between(1, 2);
    if (layout.virtual_stage_count > 1) return out;
    const bool even = layout.pipeline_parallel_size % 2 == 0;
    out.schedule = static_cast<PipelineSchedule>(Between(0, even ? 4 : 3));
    return out;
  }

 private:
  std::mt19937 random_;
};

// The same job for the same seed. MemoryModel::Of() takes all of them.
inline RandomJob DrawJob(uint32_t seed) {
  const RandomSharding drawn = DrawSharding(seed);
  JobDraw draw(seed);
  RandomJob out = {.spec = drawn.spec, .job = {.layout = drawn.layout}};
  out.spec.encoder.learned_position_count = out.spec.decoder.learned_position_count = 0;
  out.job.batch = draw.Batch(out.spec, out.job.layout);
  out.job.state = draw.State(out.job.layout);
  out.job.pipeline = draw.Pipeline(out.job.layout);
  const FrameworkSpec framework = {
      .kind = static_cast<Framework>(draw.Between(0, kFrameworkCount - 1))};
  out.job.buffers = BuffersOf(framework, out.job.layout);
  out.job.reserve = ReserveOf(framework, {.communicator_count = draw.Between(0, 3)});
  out.job.state.precision = draw.Precision();
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_LEDGER_RANDOM_JOB_H_
