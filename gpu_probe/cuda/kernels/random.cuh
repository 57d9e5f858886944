// Random numbers as a function of their place: the same on every GPU and for any thread count.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_RANDOM_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_RANDOM_CUH_

// 64 random bits for `place`: SplitMix64's output function over its sequence (Steele, Lea, Flood,
// OOPSLA 2014), as in host/random_data.h.
static __device__ unsigned long long RandomBits(unsigned long long place) {
  unsigned long long z = (place + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// A normally distributed number of mean 0 and variance 1 (Box and Muller, 1958). Its size is below
// 6.8.
static __device__ float RandomNormal(unsigned long long place) {
  const unsigned long long bits = RandomBits(place);
  const float u = ((float)(unsigned)(bits >> 32) + 0.5f) * 2.3283064e-10f;
  const float angle = 6.2831853f * (float)(unsigned)bits * 2.3283064e-10f;
  return sqrtf(-2.0f * logf(fminf(u, 1.0f - 5.9604645e-8f))) * cosf(angle);
}

// A whole number for `place`, from -2^19 to 2^19 - 1, all equally frequent. fp32 adds and
// multiplies such numbers without rounding, so that results can be compared bit for bit.
static __device__ float RandomWhole(unsigned long long place) {
  return (float)((int)(RandomBits(place) >> 44) - (1 << 19));
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_RANDOM_CUH_
