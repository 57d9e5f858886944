// Multiply-adds on every element of an fp32 array in place: a ladder from memory-bound to
// arithmetic-bound.
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"

// Vectors that a thread processes at once, 8 independent chains of multiply-adds: with 1536 threads
// a multiprocessor, far more than the latency of arithmetic needs, and enough for that of memory.
static const int kUnroll = 2;

template <int kStepCount, int kVectorCount>
static __device__ void MultiplyAdds(float4* x, unsigned long long i, float a, float b) {
  float4 y[kVectorCount];
  for (int j = 0; j < kVectorCount; ++j) y[j] = __ldcs(x + i + j * Stride());
#pragma unroll 16
  for (int step = 0; step < kStepCount; ++step) {
    for (int j = 0; j < kVectorCount; ++j) {
      y[j].x = fmaf(a, y[j].x, b);
      y[j].y = fmaf(a, y[j].y, b);
      y[j].z = fmaf(a, y[j].z, b);
      y[j].w = fmaf(a, y[j].w, b);
    }
  }
  for (int j = 0; j < kVectorCount; ++j) __stcs(x + i + j * Stride(), y[j]);
}

// x = a x + b, kStepCount times for each element. The count is a template parameter, so that no
// loop counter adds to the arithmetic.
#define SEXTANT_MULTIPLY_ADDS(kStepCount)                                                          \
  SEXTANT_PASS multiply_adds_##kStepCount(float4* x, unsigned long long count, float a, float b) { \
    unsigned long long i = FirstPlace();                                                           \
    for (; i + (kUnroll - 1) * Stride() < count; i += kUnroll * Stride()) {                        \
      MultiplyAdds<kStepCount, kUnroll>(x, i, a, b);                                               \
    }                                                                                              \
    for (; i < count; i += Stride()) MultiplyAdds<kStepCount, 1>(x, i, a, b);                      \
  }

SEXTANT_MULTIPLY_ADDS(2)
SEXTANT_MULTIPLY_ADDS(4)
SEXTANT_MULTIPLY_ADDS(8)
SEXTANT_MULTIPLY_ADDS(16)
SEXTANT_MULTIPLY_ADDS(32)
SEXTANT_MULTIPLY_ADDS(64)
SEXTANT_MULTIPLY_ADDS(128)
SEXTANT_MULTIPLY_ADDS(256)

// Compares x with n steps on x0 = scale times the whole number of place seed + i: f + (x0 - f) a^n
// with the fixed point f = b / (1 - a), and `power` = a^n. The allowed rounding error is `rounding`
// times the larger of |x0| and 1.
extern "C" __global__ void check_multiply_adds(Report* report, const float* x,
                                               unsigned long long count, unsigned long long seed,
                                               float scale, double fixed_point, double power,
                                               double rounding) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    const double start = scale * RandomWhole(seed + i);
    const double expected = fixed_point + (start - fixed_point) * power;
    if (!(fabs(x[i] - expected) <= rounding * fmax(fabs(start), 1.0))) Tell(report, i);
  }
}
