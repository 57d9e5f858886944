#include "engine/memory/ledger/alike_stages.h"

#include "engine/memory/activations/gradient_flow.h"
#include "engine/memory/schedule/pipeline_schedule.h"

namespace sextant {
namespace {

class StageComparison {
 public:
  StageComparison(const ArchitectureSpec& spec, const JobSpec& job, const LayerPlacement& placement)
      : spec_(spec),
        placement_(placement),
        chunk_count_(job.layout.virtual_stage_count),
        part_(spec.decoder.layers.empty() ? ModelPart::kEncoder : ModelPart::kDecoder) {}

  // Whether `stage` has what the one before it has: the same layers in each chunk, and neither
  // embedding nor output, nor a neighbour fewer to receive from.
  bool IsAsBefore(int64_t stage) const {
    if (stage < 2 || stage > placement_.stage_count() - 2) return false;
    for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
      const int kind = static_cast<int>(i);
      const int64_t here = placement_.On(stage, part_, kind).count;
      if (here != placement_.On(stage - 1, part_, kind).count) return false;
      // Which chunk has them, and in what order units are gathered, counts do not say.
      if (here > 0 && here != placement_.LayersOn(stage)) return false;
    }
    for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) {
      const int64_t layers = placement_.ChunkOf(stage, chunk).count;
      if (layers != placement_.ChunkOf(stage - 1, chunk).count) return false;
    }
    return true;
  }

 private:
  const ArchitectureSpec& spec_;
  const LayerPlacement& placement_;
  const int64_t chunk_count_;
  const ModelPart part_;
};

}  // namespace

std::vector<bool> AlikeStages(const ArchitectureSpec& spec, const JobSpec& job,
                              const LayerPlacement& placement) {
  const int64_t stages = placement.stage_count();
  std::vector<bool> out(static_cast<size_t>(stages), false);
  const bool one_stack = spec.encoder.layers.empty() || spec.decoder.layers.empty();
  if (!one_stack || !TrainsEverything(spec)) return out;
  const StageComparison comparison(spec, job, placement);
  const bool dual = job.pipeline.schedule == PipelineSchedule::kDualPipe;
  for (int64_t stage = 1; stage < stages; ++stage) {
    // The opposite of the stage before is the one behind the opposite.
    out[static_cast<size_t>(stage)] =
        comparison.IsAsBefore(stage) && (!dual || comparison.IsAsBefore(stages - stage));
  }
  return out;
}

}  // namespace sextant
