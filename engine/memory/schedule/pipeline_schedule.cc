#include "engine/memory/schedule/pipeline_schedule.h"

namespace sextant {

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

}  // namespace sextant
