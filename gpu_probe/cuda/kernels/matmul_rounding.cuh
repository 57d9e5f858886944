// Rounding to the formats of matmul_formats.cuh.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_ROUNDING_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_ROUNDING_CUH_

#include "gpu_probe/cuda/kernels/matmul_formats.cuh"

static __device__ unsigned FloatAsBits(float value) {
  FloatBits in;
  in.value = value;
  return in.bits;
}

// The nearest number, ties to even; |value| must be below 65504.
static __device__ unsigned short ToFp16(float value) {
  const unsigned bits = FloatAsBits(value);
  const unsigned size = bits & 0x7FFFFFFF;
  const unsigned rounded = size < (113u << 23)
                               ? (unsigned)rintf(BitsAsFloat(size) * 16777216.0f)
                               : (size + 0xFFF + (size >> 13 & 1) - (112u << 23)) >> 13;
  return (unsigned short)((bits >> 16 & 0x8000) | rounded);
}

// The nearest number with 10 bits of fraction, ties to even.
static __device__ float ToTf32(float value) {
  const unsigned bits = FloatAsBits(value);
  return BitsAsFloat((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000u);
}

// The nearest number, ties to even; larger values become the largest one, 448.
static __device__ unsigned char ToE4m3(float value) {
  const unsigned bits = FloatAsBits(value);
  const float size = fminf(BitsAsFloat(bits & 0x7FFFFFFF), 448.0f);
  const unsigned size_bits = FloatAsBits(size);
  const unsigned rounded = size < 0.015625f
                               ? (unsigned)rintf(size * 512.0f)
                               : (size_bits + 0x7FFFF + (size_bits >> 20 & 1) - (120u << 23)) >> 20;
  return (unsigned char)((bits >> 24 & 0x80) | rounded);
}

// The nearest number; larger values become the largest one, 6.
static __device__ unsigned ToE2m1(float value) {
  const float size = fabsf(value);
  const unsigned rounded = (size > 0.25f) + (size >= 0.75f) + (size > 1.25f) + (size >= 1.75f) +
                           (size > 2.5f) + (size >= 3.5f) + (size > 5.0f);
  return (FloatAsBits(value) >> 28 & 8) | rounded;
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_ROUNDING_CUH_
