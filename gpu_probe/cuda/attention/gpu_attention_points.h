// Attention of a plan for a GPU, by cuDNN: one pass of one shape each, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_POINTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// The points of `mode`: forward passes, then in full backward ones, each where cuDNN has a kernel
// for it. The first forward pass of each kind compiles its kernel, and each backward pass one of
// its own, which takes half a second to two: measure them last. None, with a note, without a usable
// cuDNN.
std::vector<Point> GpuAttentionPoints(v1::ProbeMode mode, const SharedSession& session,
                                      const absl::StatusOr<Cudnn>& cudnn,
                                      std::vector<std::string>* notes);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_GPU_ATTENTION_POINTS_H_
