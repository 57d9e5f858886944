#include "gpu_probe/host/memory_pass_kernels.h"

#include "gpu_probe/host/simd.h"

namespace sextant::probe {
namespace {

// Independent sums, so that additions do not wait for each other.
constexpr int kSumCount = 8;

template <int kBytes>
using DoublesOf = typename VectorOf<double, kBytes>::Type;

// Streaming stores of 16 bytes fill a whole line before it is written back, as wider ones do.
template <int kBytes, bool kPastCaches>
SEXTANT_INLINE_BODY void Store(double* to, const DoublesOf<kBytes>& value) {
  if constexpr (kPastCaches) {
    const auto* const parts = reinterpret_cast<const DoublesOf<kBaseBytes>*>(&value);
#pragma GCC unroll 4
    for (int i = 0; i < kBytes / kBaseBytes; ++i) StorePastCaches(to + 2 * i, parts[i]);
  } else {
    *reinterpret_cast<DoublesOf<kBytes>*>(to) = value;
  }
}

template <int kBytes>
SEXTANT_INLINE_BODY const DoublesOf<kBytes>& Load(const double* from) {
  return *reinterpret_cast<const DoublesOf<kBytes>*>(from);
}

template <int kBytes>
SEXTANT_INLINE_BODY double Sum(const double* a, int64_t count) {
  using Vector = DoublesOf<kBytes>;
  constexpr int64_t kLanes = VectorOf<double, kBytes>::kLaneCount;
  Vector sums[kSumCount] = {};
  int64_t i = 0;
  for (; i + kSumCount * kLanes <= count; i += kSumCount * kLanes) {
#pragma GCC unroll 8
    for (int j = 0; j < kSumCount; ++j) sums[j] += Load<kBytes>(a + i + j * kLanes);
  }
  double total = 0;
  for (int j = 0; j < kSumCount; ++j) {
    for (int lane = 0; lane < kLanes; ++lane) total += sums[j][lane];
  }
  for (; i < count; ++i) total += a[i];
  return total;
}

// Writes the outputs of all other operations, by vectors and then one by one.
template <int kBytes, bool kPastCaches>
SEXTANT_INLINE_BODY void Fill(MemoryPassOperation operation, const MemoryPassSpan& span) {
  constexpr int64_t kLanes = VectorOf<double, kBytes>::kLaneCount;
  const double s = span.scalar;
  const double* const a = span.a;
  const double* const b = span.b;
  double* const c = span.c;
  int64_t i = 0;
  const int64_t whole = span.count - span.count % kLanes;
  switch (operation) {
    case v1::StreamMeasurement::OPERATION_WRITE: {
      const DoublesOf<kBytes> value = s - DoublesOf<kBytes>{};
      for (; i < whole; i += kLanes) Store<kBytes, kPastCaches>(c + i, value);
      for (; i < span.count; ++i) c[i] = s;
      break;
    }
    case v1::StreamMeasurement::OPERATION_COPY:
      for (; i < whole; i += kLanes) Store<kBytes, kPastCaches>(c + i, Load<kBytes>(a + i));
      for (; i < span.count; ++i) c[i] = a[i];
      break;
    case v1::StreamMeasurement::OPERATION_SCALE:
      for (; i < whole; i += kLanes) Store<kBytes, kPastCaches>(c + i, s * Load<kBytes>(a + i));
      for (; i < span.count; ++i) c[i] = s * a[i];
      break;
    case v1::StreamMeasurement::OPERATION_TRIAD:
      for (; i < whole; i += kLanes) {
        Store<kBytes, kPastCaches>(c + i, Load<kBytes>(a + i) + s * Load<kBytes>(b + i));
      }
      for (; i < span.count; ++i) c[i] = a[i] + s * b[i];
      break;
    default:
      break;
  }
}

template <int kBytes>
SEXTANT_INLINE_BODY double Pass(MemoryPassOperation operation, const MemoryPassSpan& span) {
  if (operation == v1::StreamMeasurement::OPERATION_READ) return Sum<kBytes>(span.a, span.count);
  if (span.past_caches) {
    Fill<kBytes, true>(operation, span);
    EndStoresPastCaches();  // they are not ordered with the signal of the pass's end
  } else {
    Fill<kBytes, false>(operation, span);
  }
  return 0;
}

double PassBase(MemoryPassOperation operation, const MemoryPassSpan& span) {
  return Pass<kBaseBytes>(operation, span);
}
SEXTANT_TARGET_AVX2 double PassAvx2(MemoryPassOperation operation, const MemoryPassSpan& span) {
  return Pass<kAvx2Bytes>(operation, span);
}
SEXTANT_TARGET_AVX512 double PassAvx512(MemoryPassOperation operation, const MemoryPassSpan& span) {
  return Pass<kAvx512Bytes>(operation, span);
}

}  // namespace

MemoryPassKernel MemoryPassKernelOf(SimdLevel level) {
  return KernelsByLevel<MemoryPassKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}
      .At(level);
}

}  // namespace sextant::probe
