// The multiplications of a plan for a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_POINTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Those of `mode`, of all types that the GPU multiplies in; a note for each of the others.
std::vector<Point> GpuMatmulPoints(v1::ProbeMode mode, const SharedSession& session,
                                   const CublasLt& library, std::vector<std::string>* notes);

// Shapes that were asked for, in their order; bf16 where they name no type.
//
// Errors: kInvalidArgument for a size that is none; kUnimplemented where a type is not the GPU's,
// or a shape not the type's.
absl::StatusOr<std::vector<Point>> GpuRequestedMatmulPoints(
    v1::ProbeMode mode, const std::vector<v1::MatmulShape>& shapes, const SharedSession& session,
    const CublasLt& library);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_POINTS_H_
