// Elements of matrices in the multiplied formats: as bits, and as numbers.
//
// 8 and 4 bits: "FP8 formats for deep learning" (arXiv 2209.05433), "OCP Microscaling Formats (MX)
// Specification 1.0". Layout of block scales: cuBLAS documentation, "1D Block Scaling Factors
// Layout".
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_FORMATS_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_FORMATS_CUH_

#include "gpu_probe/cuda/kernels/narrow.cuh"

// As in matmul/gpu_matmul_type.h.
enum MatrixFormat {
  kFp64Elements = 0,
  kFp32Elements = 1,
  kTf32Elements = 2,  // fp32 whose last 13 bits are 0
  kFp16Elements = 3,
  kBf16Elements = 4,
  kInt8Elements = 5,
  kE4m3Elements = 6,
  kMxE4m3Elements = 7,  // a power of two as the scale of each 32
  kNvE2m1Elements = 8,  // two a byte, the lower half first; an e4m3 scale of each 16
  kInt32Elements = 9,   // results only
};

// One matrix, as in matmul/gpu_matmul_type.h. Rows are A's rows or B's columns: products run along
// k in both. In 4-bit formats, and in those with scales, k is the fastest dimension.
struct Matrix {
  const void* elements;
  const unsigned char* scales;  // of formats that have them
  long long row_step;           // elements from one row to the next
  long long k_step;
  long long scale_tiles;  // adjacent tiles of 128 rows and 4 scales along k
  double scale;           // of every element
  int format;
};

static __device__ float BitsAsFloat(unsigned bits) {
  FloatBits out;
  out.bits = bits;
  return out.value;
}
static __device__ float FromFp16(unsigned short bits) {
  const unsigned sign = (unsigned)(bits & 0x8000) << 16;
  const unsigned size = bits & 0x7FFF;
  if (size >= 0x7C00) return BitsAsFloat(sign | 0x7F800000u | (size & 0x3FF) << 13);
  const float value =
      size < 0x400 ? (float)size * 5.9604645e-8f : BitsAsFloat((size << 13) + (112u << 23));
  return sign != 0 ? -value : value;
}

static __device__ float FromE4m3(unsigned char bits) {
  const unsigned size = bits & 0x7F;
  if (size == 0x7F) return BitsAsFloat(0x7FC00000u);
  const float value =
      size < 8 ? (float)size * 0.001953125f : BitsAsFloat((size << 20) + (120u << 23));
  return (bits & 0x80) != 0 ? -value : value;
}

// 0, 0.5, 1, 1.5, 2, 3, 4, 6.
static __device__ float FromE2m1(unsigned bits) {
  const unsigned size = bits & 7;
  const float value = size < 2 ? (float)size * 0.5f : BitsAsFloat((size << 22) + (126u << 23));
  return (bits & 8) != 0 ? -value : value;
}

// The power of two with that exponent; 127 is 1.
static __device__ float FromE8m0(unsigned char bits) {
  return bits == 0 ? 5.8774718e-39f : BitsAsFloat((unsigned)bits << 23);
}

// The offset of the scale of a row's block of elements: tiles of 128 rows by 4 blocks, 512 bytes
// each.
static __device__ long long ScalePlace(long long row, long long block, long long scale_tiles) {
  const long long tile = row / 128 * scale_tiles + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

// An element of a matrix, as a number. Instantiated for each format, so that the compiler generates
// a loop for each.
template <int kFormat>
static __device__ double ElementAt(const Matrix& x, long long row, long long p) {
  const long long at = row * x.row_step + p * x.k_step;
  switch (kFormat) {
    case kFp64Elements:
      return ((const double*)x.elements)[at];
    case kFp32Elements:
    case kTf32Elements:
      return ((const float*)x.elements)[at];
    case kFp16Elements:
      return FromFp16(((const unsigned short*)x.elements)[at]);
    case kBf16Elements:
      return FromBf16(((const unsigned short*)x.elements)[at]);
    case kInt8Elements:
      return ((const signed char*)x.elements)[at];
    case kE4m3Elements:
      return FromE4m3(((const unsigned char*)x.elements)[at]);
    case kMxE4m3Elements:
      return (double)FromE4m3(((const unsigned char*)x.elements)[at]) *
             FromE8m0(x.scales[ScalePlace(row, p / 32, x.scale_tiles)]);
    case kNvE2m1Elements:
      return (double)FromE2m1(((const unsigned char*)x.elements)[at / 2] >> (at % 2 * 4)) *
             FromE4m3(x.scales[ScalePlace(row, p / 16, x.scale_tiles)]);
    default:
      return ((const int*)x.elements)[at];
  }
}

// Calls the class template `Of` for `format`.
#define SEXTANT_FOR_FORMAT(format, Of, ...)    \
  switch (format) {                            \
    case kFp64Elements:                        \
      return Of<kFp64Elements>(__VA_ARGS__);   \
    case kFp32Elements:                        \
      return Of<kFp32Elements>(__VA_ARGS__);   \
    case kTf32Elements:                        \
      return Of<kTf32Elements>(__VA_ARGS__);   \
    case kFp16Elements:                        \
      return Of<kFp16Elements>(__VA_ARGS__);   \
    case kBf16Elements:                        \
      return Of<kBf16Elements>(__VA_ARGS__);   \
    case kInt8Elements:                        \
      return Of<kInt8Elements>(__VA_ARGS__);   \
    case kE4m3Elements:                        \
      return Of<kE4m3Elements>(__VA_ARGS__);   \
    case kMxE4m3Elements:                      \
      return Of<kMxE4m3Elements>(__VA_ARGS__); \
    case kNvE2m1Elements:                      \
      return Of<kNvE2m1Elements>(__VA_ARGS__); \
    default:                                   \
      return Of<kInt32Elements>(__VA_ARGS__);  \
  }

// Rounding to these formats.

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

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_MATMUL_FORMATS_CUH_
