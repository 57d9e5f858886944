// The probe's own kernels, compiled for GPUs: a part of the program as bytes.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_
#define SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_

#include <vector>

namespace sextant {

// One file of kernels/ compiled for several compute capabilities: what the driver's
// cuModuleLoadData() takes.
struct KernelImage {
  const char* name;  // "streams"
  const void* bytes;
  int oldest_cuda = 0;  // whose drivers load it, e.g. 12040 for 12.4
};

// The images of a file stand together, in the order to try them in. None where the program was
// built without nvcc.
std::vector<KernelImage> KernelImages();

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNEL_IMAGES_H_
