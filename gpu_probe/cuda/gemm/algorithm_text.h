// What is told of an algorithm of cuBLASLt.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_

#include <string>

#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant {

// "tile 20 stages 35 split-k 2 cluster 5 waves 3.9": the library's own numbers of the tile, of the
// stages and of the cluster's shape, which cublasLt.h names (20 is CUBLASLT_MATMUL_TILE_128x128);
// parts into which k is cut, where more than one; how often the blocks fill the GPU. What the
// library does not tell is left out.
std::string AlgorithmText(const CublasLt& library, const CublasLtChoice& choice);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_ALGORITHM_TEXT_H_
