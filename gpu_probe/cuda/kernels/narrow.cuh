// 16-bit floating-point numbers as bits. CUDA's own headers for them need CUDA's types, which the
// tests on a processor don't have.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_NARROW_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_NARROW_CUH_

union FloatBits {
  float value;
  unsigned bits;
};

static __device__ float FromBf16(unsigned short bits) {
  FloatBits out;
  out.bits = (unsigned)bits << 16;
  return out.value;
}

// The nearest number, ties to even; `value` must be finite.
static __device__ unsigned short ToBf16(float value) {
  FloatBits in;
  in.value = value;
  return (unsigned short)((in.bits + 0x7FFF + (in.bits >> 16 & 1)) >> 16);
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_NARROW_CUH_
