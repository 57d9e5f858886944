// The chain of elementwise operations of gpu_probe/fusion_chain.h on fp32 rows: one pass an
// operation, and one fused pass.
#include "gpu_probe/cuda/kernels/places.cuh"
#include "gpu_probe/cuda/kernels/random.cuh"
#include "gpu_probe/fusion_chain.h"

static const int kBiasVectorCount = sextant::probe::kFusionChannelCount / 4;

static __device__ float Activated(float y) {
  const float linear = (float)sextant::probe::kActivationLinear;
  const float square = (float)sextant::probe::kActivationSquare;
  const float fourth = (float)sextant::probe::kActivationFourth;
  return y * (linear + y * (square + fourth * (y * y)));
}
static __device__ float4 Activated(float4 y) {
  return make_float4(Activated(y.x), Activated(y.y), Activated(y.z), Activated(y.w));
}

SEXTANT_PASS fusion_scale(float4* y, const float4* x, unsigned long long count, float scale) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) y[i] = Times(scale, x[i]);
}

SEXTANT_PASS fusion_add_bias(float4* y, const float4* bias, unsigned long long count) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    y[i] = Plus(y[i], bias[i % kBiasVectorCount]);
  }
}

SEXTANT_PASS fusion_activate(float4* y, unsigned long long count) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) y[i] = Activated(y[i]);
}

SEXTANT_PASS fusion_add_residual(float4* y, const float4* residual, unsigned long long count) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    y[i] = Plus(y[i], residual[i]);
  }
}

SEXTANT_PASS fusion_all(float4* y, const float4* x, const float4* bias, const float4* residual,
                        unsigned long long count, float scale) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    const float4 sum = Plus(Times(scale, x[i]), bias[i % kBiasVectorCount]);
    y[i] = Plus(Activated(sum), residual[i]);
  }
}

// The seeds are those of x, bias and residual, whose numbers are `data_scale` times whole ones. The
// allowed error is `rounding` times 1 + z^4 + |residual|: some ten roundings of values of that
// size.
extern "C" __global__ void check_fusion(Report* report, const float* y, unsigned long long count,
                                        unsigned long long seed, unsigned long long bias_seed,
                                        unsigned long long residual_seed, float data_scale,
                                        float scale, double rounding) {
  for (unsigned long long i = FirstPlace(); i < count; i += Stride()) {
    const unsigned long long channel = i % sextant::probe::kFusionChannelCount;
    const double bias = data_scale * RandomWhole(bias_seed + channel);
    const double residual = data_scale * RandomWhole(residual_seed + i);
    const double z = (double)scale * (data_scale * RandomWhole(seed + i)) + bias;
    const double square = z * z;
    const double expected =
        z * (sextant::probe::kActivationLinear +
             z * (sextant::probe::kActivationSquare + sextant::probe::kActivationFourth * square)) +
        residual;
    const double allowed = rounding * (1 + square * square + fabs(residual));
    if (!(fabs(y[i] - expected) <= allowed)) Tell(report, i);
  }
}
