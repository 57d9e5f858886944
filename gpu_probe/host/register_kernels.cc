#include "gpu_probe/host/register_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gpu_probe/host/simd.h"

namespace sextant {
namespace {

// Independent chains: more than latency times instructions a cycle on any processor, and fewer
// than the registers that the level has.
constexpr int kFewChains = 12;
constexpr int kManyChains = 24;

constexpr int kBaseChains = kBaseHas32Registers ? kManyChains : kFewChains;
constexpr int kBaseWords = kBaseBytes / 4;
constexpr int kAvx2Words = kAvx2Bytes / 4;
constexpr int kAvx512Words = kAvx512Bytes / 4;

// GCC fuses what the processor can fuse, and every aarch64 can.
#if defined(__x86_64__)
constexpr char kBaseInstruction[] = "sse2 mulps addps";
#else
constexpr char kBaseInstruction[] = "neon fmla";
#endif

template <int kBytes, int kChainCount>
SEXTANT_INLINE_BODY void MultiplyAddFp32(RegisterState* state, int64_t step_count) {
  using Vector = typename VectorOf<float, kBytes>::Type;
  auto* const words = reinterpret_cast<Vector*>(state->words.data());
  const Vector left = *reinterpret_cast<const Vector*>(state->left.data());
  const Vector right = *reinterpret_cast<const Vector*>(state->right.data());
  Vector x[kChainCount];
#pragma GCC unroll 24
  for (int j = 0; j < kChainCount; ++j) x[j] = words[j];
  for (int64_t step = 0; step < step_count; ++step) {
#pragma GCC unroll 24
    for (int j = 0; j < kChainCount; ++j) x[j] = x[j] * left + right;
  }
#pragma GCC unroll 24
  for (int j = 0; j < kChainCount; ++j) words[j] = x[j];
}

void Fp32Base(RegisterState* state, int64_t step_count) {
  MultiplyAddFp32<kBaseBytes, kBaseChains>(state, step_count);
}
SEXTANT_TARGET_AVX2 void Fp32Avx2(RegisterState* state, int64_t step_count) {
  MultiplyAddFp32<kAvx2Bytes, kFewChains>(state, step_count);
}
SEXTANT_TARGET_AVX512 void Fp32Avx512(RegisterState* state, int64_t step_count) {
  MultiplyAddFp32<kAvx512Bytes, kManyChains>(state, step_count);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bf16"))) void Bf16Avx512(RegisterState* state,
                                                              int64_t step_count) {
  const auto left = reinterpret_cast<__m512bh>(_mm512_load_si512(state->left.data()));
  const auto right = reinterpret_cast<__m512bh>(_mm512_load_si512(state->right.data()));
  auto* const words = reinterpret_cast<float*>(state->words.data());
  __m512 x[kManyChains];
#pragma GCC unroll 24
  for (int j = 0; j < kManyChains; ++j) x[j] = _mm512_load_ps(words + j * kAvx512Words);
  for (int64_t step = 0; step < step_count; ++step) {
#pragma GCC unroll 24
    for (int j = 0; j < kManyChains; ++j) x[j] = _mm512_dpbf16_ps(x[j], left, right);
  }
#pragma GCC unroll 24
  for (int j = 0; j < kManyChains; ++j) _mm512_store_ps(words + j * kAvx512Words, x[j]);
}

__attribute__((target("avx512f,avx512vnni"))) void Int8Avx512(RegisterState* state,
                                                              int64_t step_count) {
  const __m512i left = _mm512_load_si512(state->left.data());
  const __m512i right = _mm512_load_si512(state->right.data());
  uint32_t* const words = state->words.data();
  __m512i x[kManyChains];
#pragma GCC unroll 24
  for (int j = 0; j < kManyChains; ++j) x[j] = _mm512_load_si512(words + j * kAvx512Words);
  for (int64_t step = 0; step < step_count; ++step) {
#pragma GCC unroll 24
    for (int j = 0; j < kManyChains; ++j) x[j] = _mm512_dpbusd_epi32(x[j], left, right);
  }
#pragma GCC unroll 24
  for (int j = 0; j < kManyChains; ++j) _mm512_store_si512(words + j * kAvx512Words, x[j]);
}

__attribute__((target("avx2,avxvnni"))) void Int8Avx2(RegisterState* state, int64_t step_count) {
  auto* const words = reinterpret_cast<__m256i*>(state->words.data());
  const __m256i left = *reinterpret_cast<const __m256i*>(state->left.data());
  const __m256i right = *reinterpret_cast<const __m256i*>(state->right.data());
  __m256i x[kFewChains];
#pragma GCC unroll 12
  for (int j = 0; j < kFewChains; ++j) x[j] = words[j];
  for (int64_t step = 0; step < step_count; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kFewChains; ++j) x[j] = _mm256_dpbusd_avx_epi32(x[j], left, right);
  }
#pragma GCC unroll 12
  for (int j = 0; j < kFewChains; ++j) words[j] = x[j];
}

// Those for types other than FP32.
void AppendTypedKernels(const CpuFeatures& features, std::vector<RegisterKernel>* out) {
  if (features.avx512_bf16 && !features.amx_bf16) {
    out->push_back({.data_type = v1::DATA_TYPE_BF16,
                    .instruction = "avx512_bf16 vdpbf16ps",
                    .word_count = kManyChains * kAvx512Words,
                    .lane_count = kAvx512Words,
                    .operation_count_a_word = 4,
                    .run = Bf16Avx512});
  }
  if (features.avx512_vnni && !features.amx_int8) {
    out->push_back({.data_type = v1::DATA_TYPE_INT8,
                    .instruction = "avx512_vnni vpdpbusd",
                    .word_count = kManyChains * kAvx512Words,
                    .lane_count = kAvx512Words,
                    .operation_count_a_word = 8,
                    .run = Int8Avx512});
  }
  if (features.avx_vnni && !features.amx_int8) {
    out->push_back({.data_type = v1::DATA_TYPE_INT8,
                    .instruction = "avx_vnni vpdpbusd",
                    .word_count = kFewChains * kAvx2Words,
                    .lane_count = kAvx2Words,
                    .operation_count_a_word = 8,
                    .run = Int8Avx2});
  }
}
#else
void AppendTypedKernels(const CpuFeatures&, std::vector<RegisterKernel>*) {}
#endif

RegisterKernel Fp32Kernel(SimdLevel level) {
  RegisterKernel kernel = {.data_type = v1::DATA_TYPE_FP32, .operation_count_a_word = 2};
  switch (level) {
    case SimdLevel::kAvx512:
      kernel.instruction = "avx512f vfmadd";
      kernel.lane_count = kAvx512Words;
      kernel.word_count = kManyChains * kAvx512Words;
      kernel.run = Fp32Avx512;
      break;
    case SimdLevel::kAvx2:
      kernel.instruction = "fma vfmadd";
      kernel.lane_count = kAvx2Words;
      kernel.word_count = kFewChains * kAvx2Words;
      kernel.run = Fp32Avx2;
      break;
    case SimdLevel::kBase:
      kernel.instruction = kBaseInstruction;
      kernel.lane_count = kBaseWords;
      kernel.word_count = kBaseChains * kBaseWords;
      kernel.run = Fp32Base;
      break;
  }
  return kernel;
}

}  // namespace

std::vector<RegisterKernel> RegisterKernelsOf(const CpuFeatures& features) {
  std::vector<RegisterKernel> out;
  if (features.avx512f) out.push_back(Fp32Kernel(SimdLevel::kAvx512));
  if (features.avx2 && features.fma) out.push_back(Fp32Kernel(SimdLevel::kAvx2));
  out.push_back(Fp32Kernel(SimdLevel::kBase));
  AppendTypedKernels(features, &out);
  return out;
}

}  // namespace sextant
