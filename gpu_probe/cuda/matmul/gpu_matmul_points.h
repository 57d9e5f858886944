// The multiplications of a plan for a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_POINTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// The points of `mode`, for all types that the GPU multiplies; adds a note for each of the others.
std::vector<Point> GpuMatmulPoints(v1::ProbeMode mode, const SharedSession& session,
                                   const CublasLt& library, std::vector<std::string>* notes);

// The shapes that the user asked for, in order; bf16 where they name no type.
//
// Errors: kInvalidArgument for an invalid size; kUnimplemented where the GPU does not support a
// type, or the type a shape.
absl::StatusOr<std::vector<Point>> GpuRequestedMatmulPoints(
    v1::ProbeMode mode, const std::vector<v1::MatmulShape>& shapes, const SharedSession& session,
    const CublasLt& library);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_POINTS_H_
