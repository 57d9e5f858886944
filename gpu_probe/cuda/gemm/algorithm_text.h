// What is told of an algorithm of cuBLASLt.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_

#include <string>

#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant {

// "tile 128x256 stages 64x4 split-k 2 cluster 2x1 waves 3.9", of which the library tells what it
// knows: the tile as it has it, columns of C first where C is row-major; elements of k a stage, and
// stages ("auto" where it depends on the memory left); parts into which k is cut; blocks of a
// cluster; how often the blocks fill the GPU. What it does not tell is left out.
std::string AlgorithmText(const CublasLt& library, const CublasLtChoice& choice);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_
