#include "gpu_probe/host/memory_pass.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/points/memory.h"

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

// The place in the pattern where b starts; a starts at 0, so b is not a copy of a.
constexpr int64_t kBStart = 314'159;

std::vector<double> WholeNumbers() {
  constexpr int kUnusedBits = 41;  // 23 are left: -2^22 to 2^22 - 1
  constexpr int64_t kHalf = int64_t{1} << 22;
  std::vector<double> out(static_cast<size_t>(kPatternCount));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto bits = static_cast<int64_t>(RandomBits(i) >> kUnusedBits);
    // 0 marks elements that were not written.
    out[i] = static_cast<double>(bits == kHalf ? 1 : bits - kHalf);
  }
  return out;
}

constexpr double kScalar = 3;  // keeps all results whole and exact
constexpr double kUnwrittenNumber = std::numeric_limits<double>::quiet_NaN();

// `count` elements of c from `first` on, as the operation has to leave them.
std::array<double, kCheckedElementCount> Expected(MemoryPassOperation operation,
                                                  const MemoryPassArrays& arrays, int64_t first,
                                                  int64_t count) {
  std::array<double, kCheckedElementCount> out;
  std::array<double, kCheckedElementCount> b;
  out.fill(kScalar);
  if (operation == v1::StreamMeasurement::OPERATION_WRITE) return out;
  arrays.CopyOfA(first, count, out.data());
  for (double& value : out) {
    if (operation == v1::StreamMeasurement::OPERATION_SCALE) value *= kScalar;
  }
  if (operation == v1::StreamMeasurement::OPERATION_TRIAD) {
    arrays.CopyOfB(first, count, b.data());
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) out[i] += kScalar * b[i];
  }
  return out;
}

// The least size of arrays that exceed all caches, where memory allows: a cache shared with others
// may be larger than the host reports. Only FULL has time for the larger size.
constexpr int64_t kMinBytes = int64_t{256} << 20;
constexpr int64_t kMinBytesInFull = int64_t{1} << 30;

constexpr int64_t kSmallPageBytes = 4096;
constexpr int64_t kDoubleBytes = sizeof(double);

// A thread's part of each array for caches: with the second array, half of a first-level cache of
// 32 KiB, and of a second-level cache of 1 MiB.
constexpr int64_t kFirstLevelBytes = int64_t{8} << 10;
constexpr int64_t kSecondLevelBytes = int64_t{256} << 10;
// Both arrays together take a quarter of the last level, which others may use, too.
constexpr int64_t kLastLevelShare = 8;

MakeOne<StreamPass> PassesOn(const absl::StatusOr<int64_t>& array_bytes,
                             const SharedContext& context) {
  return OnArrays<StreamPass, MemoryPassArrays>(
      array_bytes,
      [=](int64_t bytes) { return MemoryPassArrays::Create(bytes / kDoubleBytes, *context); },
      [=](const StreamPass& pass, const std::shared_ptr<MemoryPassArrays>& arrays)
          -> absl::StatusOr<std::unique_ptr<Workload>> {
        if (pass.operation == v1::StreamMeasurement::OPERATION_TRIAD) {
          SEXTANT_RETURN_IF_ERROR(arrays->AddB(*context));
        }
        return std::make_unique<MemoryPassWorkload>(
            MemoryPassRun{.operation = pass.operation,
                          .kernel = MemoryPassKernelOf(WidestSimd(context->features)),
                          .segment_count = pass.segment_count,
                          .past_caches = pass.main_memory},
            arrays, context);
      });
}

// Bytes of each array where both fit into a cache, smallest first.
std::vector<int64_t> CachedSizes(v1::ProbeMode mode, const HostContext& context) {
  const int64_t threads = context.team->size();
  if (mode == v1::PROBE_MODE_QUICK) return {};
  std::vector<int64_t> sizes = {kFirstLevelBytes * threads, kSecondLevelBytes * threads};
  const int64_t last_level_bytes = context.cache_bytes.value_or(0) / kLastLevelShare;
  if (mode == v1::PROBE_MODE_FULL) {
    sizes.clear();
    const int64_t end = std::max(last_level_bytes, kSecondLevelBytes * threads);
    for (int64_t size = kFirstLevelBytes * threads; size < end; size *= 4) sizes.push_back(size);
  }
  const int64_t whole_pages_bytes = last_level_bytes / kSmallPageBytes * kSmallPageBytes;
  if (whole_pages_bytes > sizes.back()) sizes.push_back(whole_pages_bytes);
  return sizes;
}

}  // namespace

MemoryPassKernel MemoryPassKernelOf(SimdLevel level) {
  return KernelsByLevel<MemoryPassKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}
      .At(level);
}

MemoryPassArrays::MemoryPassArrays(int64_t count) : count_(count), pattern_(WholeNumbers()) {}

absl::StatusOr<std::shared_ptr<MemoryPassArrays>> MemoryPassArrays::Create(
    int64_t count, const HostContext& context) {
  auto arrays = absl::WrapUnique(new MemoryPassArrays(count));
  const int64_t bytes = count * static_cast<int64_t>(sizeof(double));
  SEXTANT_ASSIGN_OR_RETURN(arrays->a_, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->c_, context.memory->Allocate(bytes));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    arrays->CopyOfA(part.begin, part.end - part.begin, arrays->a_.As<double>() + part.begin);
    for (int64_t i = part.begin; i < part.end; i += kThreadPartBlock) arrays->c()[i] = 0;
  });
  return arrays;
}

absl::Status MemoryPassArrays::AddB(const HostContext& context) {
  if (b_.size_bytes() > 0) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(b_, context.memory->Allocate(a_.size_bytes()));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count_, index, context.team->size());
    CopyOfB(part.begin, part.end - part.begin, b_.As<double>() + part.begin);
  });
  return absl::OkStatus();
}

void MemoryPassArrays::CopyOfA(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(first, count, to);
}

void MemoryPassArrays::CopyOfB(int64_t first, int64_t count, double* to) const {
  pattern_.Copy(kBStart + first, count, to);
}

MemoryPassWorkload::MemoryPassWorkload(const MemoryPassRun& run,
                                       std::shared_ptr<MemoryPassArrays> arrays,
                                       SharedContext context)
    : ArrayWorkload(std::move(context),
                    {.element_count = arrays->count(), .segment_count = run.segment_count}),
      run_(run),
      arrays_(std::move(arrays)),
      sums_(static_cast<size_t>(this->context().team->size())) {}

MemoryPassSpan MemoryPassWorkload::SpanOf(const Part& part) const {
  return {.a = arrays_->a() + part.begin,
          .b = arrays_->b() == nullptr ? nullptr : arrays_->b() + part.begin,
          .c = arrays_->c() + part.begin,
          .count = part.end - part.begin,
          .scalar = kScalar,
          .past_caches = run_.past_caches};
}

void MemoryPassWorkload::Poison() {
  for (Sum& sum : sums_) sum.value = kUnwrittenNumber;
  ArrayWorkload::Poison();
}

void MemoryPassWorkload::PoisonPart(const Part& part) {
  std::fill(arrays_->c() + part.begin, arrays_->c() + part.end, kUnwrittenNumber);
}

void MemoryPassWorkload::RunPart(int index, const Part& part, int64_t times) {
  const MemoryPassSpan span = SpanOf(part);
  for (int64_t i = 0; i < times; ++i) {
    sums_[static_cast<size_t>(index)].value = run_.kernel(run_.operation, span);
  }
}

int64_t MemoryPassWorkload::FirstWrong(const Part& part) const {
  return FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
    const auto expected = Expected(run_.operation, *arrays_, first, count);
    const double* const c = arrays_->c() + first;
    for (int64_t i = 0; i < count; ++i) {
      if (c[i] != expected[static_cast<size_t>(i)]) return first + i;
    }
    return -1;
  });
}

std::string MemoryPassWorkload::Fault(int64_t element) const {
  return absl::StrCat("is ", arrays_->c()[element], ", not ",
                      Expected(run_.operation, *arrays_, element, /*count=*/1)[0]);
}

absl::Status MemoryPassWorkload::CheckSums() const {
  std::vector<Sum> expected(sums_.size());
  context().team->Run([&](int index) {
    const Part part = PartOfThread(index, last_segment());
    std::array<double, kCheckedElementCount> a;
    double sum = 0;
    FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
      arrays_->CopyOfA(first, count, a.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) sum += a[i];
      return -1;
    });
    expected[static_cast<size_t>(index)].value = sum;
  });
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].value == expected[i].value) continue;
    return absl::DataLossError(
        absl::StrCat("the sum of thread ", i, " is ", sums_[i].value, ", not ", expected[i].value));
  }
  return absl::OkStatus();
}

absl::Status MemoryPassWorkload::Check() {
  if (run_.operation == v1::StreamMeasurement::OPERATION_READ) return CheckSums();
  SEXTANT_RETURN_IF_ERROR(ArrayWorkload::Check());
  return last_segment() == poisoned_segment() ? absl::OkStatus() : CheckSegment(last_segment());
}

std::vector<Point> MemoryPassPoints(v1::ProbeMode mode, const SharedContext& context) {
  const int64_t minimum_bytes = mode == v1::PROBE_MODE_FULL ? kMinBytesInFull : kMinBytes;
  const auto main_bytes = ArrayBytes({.array_count = 3, .minimum_bytes = minimum_bytes}, *context);
  std::vector<Point> points = MainMemoryPoints(
      mode, {.array_bytes = main_bytes.value_or(0), .segment_count = kSegmentCount},
      PassesOn(main_bytes, context));
  if (mode != v1::PROBE_MODE_QUICK) points.front().pass_count = kWindowPassCount;
  for (const int64_t bytes : CachedSizes(mode, *context)) {
    points.push_back(
        StreamPoint({.array_bytes = bytes, .main_memory = false}, PassesOn(bytes, context)));
  }
  return points;
}

}  // namespace sextant::probe
