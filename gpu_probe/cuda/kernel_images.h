// The probe's own kernels, compiled for GPUs: a part of the program as bytes.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_
#define SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_

#include <vector>

namespace sextant {

// One file of kernels/, for all compute capabilities that the program was built for: what the
// driver's cuModuleLoadData() takes.
struct KernelImage {
  const char* name;  // "streams"
  const void* bytes;
};

// None where the program was built without nvcc.
std::vector<KernelImage> KernelImages();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_
