#include "gpu_probe/host/registers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/points/matmul.h"

namespace sextant::probe {
namespace {

// Independent chains: more than latency times instructions a cycle on any processor, and fewer than
// the level's registers.
constexpr int kFewChains = 12;
constexpr int kManyChains = 24;

constexpr int kBaseChains = kBaseHas32Registers ? kManyChains : kFewChains;
constexpr int kBaseWords = kBaseBytes / 4;
constexpr int kAvx2Words = kAvx2Bytes / 4;
constexpr int kAvx512Words = kAvx512Bytes / 4;

// GCC contracts to fused multiply-adds where the processor has them, as every aarch64 does.
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

#endif

// Odd, so that FP32 does not end at its start value; some 0.3 ms of work.
constexpr int64_t kStepCount = 40'001;

// Numbers with few digits, whose sums and differences are exact.
float RandomEighth(uint64_t counter) {
  constexpr int kCount = 1 << 14;
  return static_cast<float>(RandomBits(counter) % kCount + 1) / 8;
}

// A pair of small whole bf16 numbers: 40,001 sums of their products stay below 2^24.
uint32_t RandomBf16Pair(uint64_t counter) {
  const uint64_t bits = RandomBits(counter);
  const auto number = [&](int shift) {
    return ToBf16(static_cast<float>(static_cast<int>(bits >> shift & 0xF) - 7));
  };
  return uint32_t{number(8)} << 16 | number(0);
}

RegisterState StartOf(v1::DataType type, uint64_t seed) {
  RegisterState state;
  for (size_t i = 0; i < state.left.size(); ++i) {
    switch (type) {
      case v1::DATA_TYPE_BF16:
        state.left[i] = RandomBf16Pair(seed + 2 * i);
        state.right[i] = RandomBf16Pair(seed + 2 * i + 1);
        break;
      case v1::DATA_TYPE_INT8:
        state.left[i] = static_cast<uint32_t>(RandomBits(seed + 2 * i));
        state.right[i] = static_cast<uint32_t>(RandomBits(seed + 2 * i + 1));
        break;
      default:
        state.left[i] = std::bit_cast<uint32_t>(-1.0F);
        state.right[i] = std::bit_cast<uint32_t>(RandomEighth(seed + i));
    }
  }
  if (type != v1::DATA_TYPE_FP32) return state;  // the other types' sums start at 0
  for (size_t i = 0; i < state.words.size(); ++i) {
    state.words[i] = std::bit_cast<uint32_t>(RandomEighth(seed + 1000 + i));
  }
  return state;
}

// The sum that one step of BF16 adds to a word.
double PairProduct(uint32_t left, uint32_t right) {
  const auto low = [](uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair & 0xFFFF)); };
  const auto high = [](uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair >> 16)); };
  return double{low(left)} * low(right) + double{high(left)} * high(right);
}

// The sum that one step of INT8 adds to a word.
int64_t QuadProduct(uint32_t left, uint32_t right) {
  int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += int64_t{static_cast<uint8_t>(left >> shift)} * static_cast<int8_t>(right >> shift);
  }
  return sum;
}

class RegisterWorkload : public Workload {
 public:
  RegisterWorkload(const RegisterKernel& kernel, int64_t step_count, SharedContext context)
      : context_(std::move(context)),
        kernel_(kernel),
        step_count_(step_count),
        start_(StartOf(kernel.data_type, /*seed=*/0)),
        states_(static_cast<size_t>(context_->team->size())) {}

  void Poison() override {
    for (RegisterState& state : states_) {
      std::fill(state.words.begin(), state.words.end(), 0xFFFFFFFFU);
    }
  }

  absl::Status Run(int64_t repetition_count) override {
    context_->team->Run([&](int index) {
      for (int64_t i = 0; i < repetition_count; ++i) {
        RegisterState& state = states_[static_cast<size_t>(index)];
        state = start_;
        kernel_.run(&state, step_count_);
      }
    });
    return absl::OkStatus();
  }

  absl::Status Check() override {
    for (size_t thread = 0; thread < states_.size(); ++thread) {
      for (int word = 0; word < kernel_.word_count(); ++word) {
        const uint32_t expected = ExpectedWord(kernel_, start_, word, step_count_);
        const uint32_t actual = states_[thread].words[static_cast<size_t>(word)];
        if (actual == expected) continue;
        return absl::DataLossError(absl::StrCat(kernel_.instruction, " on thread ", thread,
                                                ": word ", word, " is 0x", absl::Hex(actual),
                                                ", not 0x", absl::Hex(expected)));
      }
    }
    return absl::OkStatus();
  }

 private:
  const SharedContext context_;
  const RegisterKernel kernel_;
  const int64_t step_count_;
  const RegisterState start_;
  std::vector<RegisterState> states_;
};

Point PointOf(const RegisterKernel& kernel, const SharedContext& context) {
  const double work = static_cast<double>(kStepCount) * kernel.word_count() *
                      kernel.operation_count_a_word() * context->team->size();
  Point point;
  point.phase = "registers";
  point.label = absl::StrCat(TypeLabel(kernel.data_type), " ", kernel.instruction);
  point.work = work;
  point.unit = "FLOP/s";
  point.first = true;
  point.pass_count = kRevisitPassCount;
  point.make = [kernel, context] { return RegisterWorkloadOf(kernel, kStepCount, context); };
  point.record = [kernel, work](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::RegisterMeasurement* const measured = out->add_registers();
    measured->set_data_type(kernel.data_type);
    measured->set_instruction(kernel.instruction);
    measured->set_flops_per_second(work / time.median_seconds());
    *measured->mutable_time() = time;
  };
  return point;
}

}  // namespace

std::vector<RegisterKernel> RegisterKernelsOf(const CpuFeatures& features) {
  std::vector<RegisterKernel> out;
  const auto add = [&out](bool present, const RegisterKernel& kernel) {
    if (present) out.push_back(kernel);
  };
  add(features.avx512f,
      {v1::DATA_TYPE_FP32, "avx512f vfmadd", kManyChains, kAvx512Words, Fp32Avx512});
  add(features.avx2 && features.fma,
      {v1::DATA_TYPE_FP32, "fma vfmadd", kFewChains, kAvx2Words, Fp32Avx2});
  add(true, {v1::DATA_TYPE_FP32, kBaseInstruction, kBaseChains, kBaseWords, Fp32Base});
#if defined(__x86_64__)
  add(features.avx512_bf16 && !features.amx_bf16,
      {v1::DATA_TYPE_BF16, "avx512_bf16 vdpbf16ps", kManyChains, kAvx512Words, Bf16Avx512});
  add(features.avx512_vnni && !features.amx_int8,
      {v1::DATA_TYPE_INT8, "avx512_vnni vpdpbusd", kManyChains, kAvx512Words, Int8Avx512});
  add(features.avx_vnni && !features.amx_int8,
      {v1::DATA_TYPE_INT8, "avx_vnni vpdpbusd", kFewChains, kAvx2Words, Int8Avx2});
#endif
  return out;
}

uint32_t ExpectedWord(const RegisterKernel& kernel, const RegisterState& start, int word,
                      int64_t step_count) {
  const auto lane = static_cast<size_t>(word % kernel.lane_count);
  const uint32_t begin = start.words[static_cast<size_t>(word)];
  const uint32_t left = start.left[lane];
  const uint32_t right = start.right[lane];
  switch (kernel.data_type) {
    case v1::DATA_TYPE_BF16: {
      const double sum =
          std::bit_cast<float>(begin) + static_cast<double>(step_count) * PairProduct(left, right);
      return std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
    case v1::DATA_TYPE_INT8:
      return begin + static_cast<uint32_t>(step_count * QuadProduct(left, right));
    default:
      // x -> c - x returns to its start after every second step.
      if (step_count % 2 == 0) return begin;
      return std::bit_cast<uint32_t>(std::bit_cast<float>(right) - std::bit_cast<float>(begin));
  }
}

std::unique_ptr<Workload> RegisterWorkloadOf(const RegisterKernel& kernel, int64_t step_count,
                                             SharedContext context) {
  return std::make_unique<RegisterWorkload>(kernel, step_count, std::move(context));
}

std::vector<Point> RegisterPoints(const std::vector<v1::DataType>& types,
                                  const SharedContext& context) {
  const std::vector<RegisterKernel> kernels = RegisterKernelsOf(context->features);
  std::vector<Point> points;
  for (const v1::DataType type : types) {
    const auto kernel =
        std::find_if(kernels.begin(), kernels.end(),
                     [type](const RegisterKernel& k) { return k.data_type == type; });
    if (kernel != kernels.end()) points.push_back(PointOf(*kernel, context));
  }
  return points;
}

}  // namespace sextant::probe
