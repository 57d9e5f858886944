// Constants of software stacks that launchers' settings decide: what they hide, and how.
#ifndef SEXTANT_SERVER_LAUNCHER_SOFTWARE_H_
#define SEXTANT_SERVER_LAUNCHER_SOFTWARE_H_

#include "engine/framework/software_stack.h"
#include "server/launcher/launched_run.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// The constants that a run is planned with: its own, or those of its stack on Hopper, as far as its
// layout lets the stack hide exchanges.
SoftwareConstants ConstantsOfRun(const v1::PlanRunRequest& request, const LaunchSizes& sizes);

// The values of constants where a setting hides nothing.
inline constexpr double kNothingHidden = 0;  // of a share that is hidden
inline constexpr double kAllExposed = 1;     // of a time over that of the exchange alone

// tensor_exchange_exposure of Megatron-Core's tp_comm_overlap: Megatron-Bridge's.
double OverlappedTensorExposure();

// data_exchange_overlap of a run that reduces gradients during its backward passes, and gathers
// weights after its step: Megatron-LM's, of gradients alone. A number is g bytes on its way as a
// gradient and w as a weight, which take g and w parts of the time:
//   g / (g + w) of the exchange is hidden, as far as all of it would be.
double GradientsAloneOverlap(const v1::PrecisionPolicy& precision);

// optimizer_time_ratio of PyTorch's AdamW without `fused`. Source: docs/step_time.md, "The
// optimizer".
inline constexpr double kUnfusedOptimizerRatio = 2.9;

// memory_pass_time_ratio of torchtitan without torch.compile: that of eager PyTorch.
double EagerMemoryPassRatio();

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SOFTWARE_H_
