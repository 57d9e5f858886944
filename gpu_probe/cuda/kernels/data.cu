// Random data, generated in place: copying it would take longer.
#include "gpu_probe/cuda/kernels/narrow.cuh"
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

// out[i] = the normal number of place seed + i.
extern "C" __global__ void fill_normal_fp32(float* out, unsigned long long count,
                                            unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    out[i] = RandomNormal(seed + i);
  }
}

extern "C" __global__ void fill_normal_bf16(unsigned short* out, unsigned long long count,
                                            unsigned long long seed) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    out[i] = ToBf16(RandomNormal(seed + i));
  }
}
