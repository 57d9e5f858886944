#include "engine/memory/schedule/pipeline_schedule.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"

namespace sextant {
namespace {

class PipelineCheck {
 public:
  PipelineCheck(const PipelineSpec& pipeline, const ParallelLayout& layout,
                FieldViolations& violations)
      : pipeline_(pipeline), layout_(layout), violations_(violations) {}

  bool RangesAreSound() {
    const int64_t count = pipeline_.micro_batch_count;
    if (count >= 1 && count <= kMaxMicroBatches) return true;
    violations_.AddOnce("layout.global_batch_size",
                        absl::StrCat("makes ", count,
                                     " micro-batches a step on each data parallel "
                                     "rank: must make 1 to ",
                                     kMaxMicroBatches));
    return false;
  }

  void CheckChunks() {
    if (layout_.virtual_stage_count == 1) return;
    if (pipeline_.schedule != PipelineSchedule::kOneForwardOneBackward) {
      AddLayout("virtual_stage_count",
                absl::StrCat("must be 1 for schedule ", PipelineScheduleName(pipeline_.schedule),
                             ": interleaved stages are of 1f1b"));
      return;
    }
    RequireMicroBatches(layout_.pipeline_parallel_size,
                        "pipeline_parallel_size, since stages are interleaved,");
  }

  void CheckDeferral() {
    const int64_t deferred = pipeline_.deferred_head_gradients;
    if (deferred == 0) return;
    constexpr absl::string_view kName = "deferred_head_gradients";
    if (deferred < 0 || deferred > kMaxMicroBatches) {
      violations_.Require("layout", kName, deferred, 0, kMaxMicroBatches);
    } else if (layout_.pipeline_parallel_size == 1 ||
               pipeline_.schedule != PipelineSchedule::kOneForwardOneBackward) {
      violations_.Add(FieldPath("layout", kName),
                      "is of 1f1b on several stages, which end one after the other: leave it out");
    }
  }

  void CheckDualPipe() {
    if (pipeline_.schedule != PipelineSchedule::kDualPipe) return;
    const int64_t stages = layout_.pipeline_parallel_size;
    if (stages % 2 != 0) {
      const bool by_hand = !layout_.layers_per_chunk.empty();
      AddLayout(
          "pipeline_parallel_size",
          absl::StrCat("must be even for schedule dualpipe, which ", stages, " is not: write ",
                       stages + 1, by_hand ? " and as many numbers in layers_per_chunk" : "",
                       ", or choose another schedule"));
      return;
    }
    if (pipeline_.micro_batch_count < 2 * stages) {
      AddMicroBatches(
          absl::StrCat("must be at least twice pipeline_parallel_size for schedule "
                       "dualpipe: write ",
                       2 * stages, " or more, not ", pipeline_.micro_batch_count));
    } else {
      RequireMicroBatches(2, "2, since dualpipe feeds both ends alike,");
    }
  }

 private:
  void AddMicroBatches(absl::string_view description) {
    violations_.Add("layout.global_batch_size", description);
  }
  void AddLayout(absl::string_view name, absl::string_view description) {
    violations_.Add(FieldPath("layout.parallel", name), description);
  }

  void RequireMicroBatches(int64_t multiple, absl::string_view of) {
    const int64_t count = pipeline_.micro_batch_count;
    if (count % multiple == 0) return;
    const int64_t next = CeilDivide(count, multiple) * multiple;
    AddMicroBatches(absl::StrCat("must be a multiple of ", of, " which ", count, " is not: write ",
                                 next <= kMaxMicroBatches ? next : next - multiple));
  }

  const PipelineSpec& pipeline_;
  const ParallelLayout& layout_;
  FieldViolations& violations_;
};

}  // namespace

absl::string_view PipelineScheduleName(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kOneForwardOneBackward:
      return "1f1b";
    case PipelineSchedule::kGPipe:
      return "gpipe";
    case PipelineSchedule::kZeroBubbleH1:
      return "zb_h1";
    case PipelineSchedule::kZeroBubbleH2:
      return "zb_h2";
    case PipelineSchedule::kDualPipe:
      return "dualpipe";
  }
  return "";
}

void CheckPipeline(const PipelineSpec& pipeline, const ParallelLayout& layout,
                   FieldViolations& violations) {
  PipelineCheck check(pipeline, layout, violations);
  if (!check.RangesAreSound()) return;
  check.CheckChunks();
  check.CheckDeferral();
  check.CheckDualPipe();
}

}  // namespace sextant
