#include "gpu_probe/host/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/points/memory.h"

namespace sextant::probe {
namespace {

// Vectors in flight: enough to hide the latency of additions (4 cycles, 2 a cycle), and few enough
// for the level's registers (16, or 32 for AVX-512 and NEON), two of which hold a and b.
constexpr int kFewPassChains = 12;
constexpr int kManyPassChains = 16;
constexpr int kBasePassChains = kBaseHas32Registers ? kManyPassChains : kFewPassChains;

template <int kBytes, int kChainCount>
SEXTANT_INLINE_BODY void Pass(const ElementwiseSpan& span) {
  using Vector = typename VectorOf<float, kBytes>::Type;
  constexpr int64_t kLanes = VectorOf<float, kBytes>::kLaneCount;
  constexpr int64_t kBlock = kChainCount * kLanes;
  const Vector a = span.a - Vector{};
  const Vector b = span.b - Vector{};
  int64_t i = 0;
  for (; i + kBlock <= span.count; i += kBlock) {
    Vector* const to = reinterpret_cast<Vector*>(span.x + i);
    Vector x[kChainCount];
#pragma GCC unroll 16
    for (int j = 0; j < kChainCount; ++j) x[j] = to[j];
    for (int64_t step = 0; step < span.step_count; ++step) {
#pragma GCC unroll 16
      for (int j = 0; j < kChainCount; ++j) x[j] = x[j] * a + b;
    }
#pragma GCC unroll 16
    for (int j = 0; j < kChainCount; ++j) to[j] = x[j];
  }
  for (; i < span.count; ++i) {
    for (int64_t step = 0; step < span.step_count; ++step) span.x[i] = span.x[i] * span.a + span.b;
  }
}

void PassBase(const ElementwiseSpan& span) { Pass<kBaseBytes, kBasePassChains>(span); }
SEXTANT_TARGET_AVX2 void PassAvx2(const ElementwiseSpan& span) {
  Pass<kAvx2Bytes, kFewPassChains>(span);
}
SEXTANT_TARGET_AVX512 void PassAvx512(const ElementwiseSpan& span) {
  Pass<kAvx512Bytes, kManyPassChains>(span);
}

// x -> a x + b moves every element slowly towards b / (1 - a), about 1: it stays an ordinary number
// however often the step is repeated, and differs from its former value.
constexpr float kFactor = 0.99F;
constexpr float kSummand = 0.01F;
const double kFixedPoint = double{kSummand} / (1 - double{kFactor});

// A step rounds at most twice, by 2^-24 of a value that is at most the larger of |x_0| and 1.
// Errors of earlier steps shrink with every step, so that all together stay below 1/(1 - a) times
// that.
constexpr double kRoundingOfStep = 2 * 0x1p-24;

constexpr int64_t kFloatBytes = sizeof(float);
}  // namespace

ElementwiseKernel ElementwiseKernelOf(SimdLevel level) {
  return KernelsByLevel<ElementwiseKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}
      .At(level);
}

absl::StatusOr<std::shared_ptr<ElementwiseArray>> ElementwiseArray::Create(
    int64_t count, const HostContext& context) {
  auto array = std::make_shared<ElementwiseArray>();
  array->count = count;
  SEXTANT_ASSIGN_OR_RETURN(array->x,
                           context.memory->Allocate(count * static_cast<int64_t>(sizeof(float))));
  context.team->Run([&](int index) {
    const Part part = ThreadPart(count, index, context.team->size());
    array->pattern.Copy(part.begin, part.end - part.begin, array->x.As<float>() + part.begin);
  });
  return array;
}

ElementwiseWorkload::ElementwiseWorkload(const ElementwiseRun& run,
                                         std::shared_ptr<ElementwiseArray> array,
                                         SharedContext context)
    : ArrayWorkload(std::move(context),
                    {.element_count = array->count, .segment_count = run.segment_count}),
      run_(run),
      array_(std::move(array)) {}

void ElementwiseWorkload::PoisonPart(const Part& part) {
  array_->pattern.Copy(part.begin, part.end - part.begin, array_->x.As<float>() + part.begin);
}

void ElementwiseWorkload::RunPart(int /*index*/, const Part& part, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    run_.kernel({.x = array_->x.As<float>() + part.begin,
                 .count = part.end - part.begin,
                 .step_count = run_.step_count,
                 .a = kFactor,
                 .b = kSummand});
  }
}

int64_t ElementwiseWorkload::FirstWrong(const Part& part) const {
  const double steps =
      static_cast<double>(CeilDivide(runs_since_poison(), segment_count()) * run_.step_count);
  const double power = std::pow(double{kFactor}, steps);
  const double rounding = kRoundingOfStep * std::min(steps, 1 / (1 - double{kFactor}));
  return FirstOfBlocks(part.begin, part.end, [&](int64_t first, int64_t count) -> int64_t {
    std::array<float, kCheckedElementCount> start;
    array_->pattern.Copy(first, count, start.data());
    const float* const x = array_->x.As<float>() + first;
    for (int64_t i = 0; i < count; ++i) {
      const double begin = start[static_cast<size_t>(i)];
      const double expected = kFixedPoint + (begin - kFixedPoint) * power;
      const double allowed = rounding * std::max(std::abs(begin), 1.0);
      if (!(std::abs(x[i] - expected) <= allowed)) return first + i;
    }
    return -1;
  });
}

std::string ElementwiseWorkload::Fault(int64_t element) const {
  return absl::StrCat("is ", array_->x.As<float>()[element], " after ", run_.step_count,
                      " multiply-adds a pass, not what they give");
}

std::vector<Point> ElementwisePoints(const SharedContext& context) {
  const auto array_bytes = ArrayBytes({.minimum_bytes = int64_t{128} << 20}, *context);
  const auto shared = std::make_shared<SharedData<ElementwiseArray>>(
      [=]() -> absl::StatusOr<std::shared_ptr<ElementwiseArray>> {
        SEXTANT_RETURN_IF_ERROR(array_bytes.status());
        return ElementwiseArray::Create(*array_bytes / kFloatBytes, *context);
      });
  return LadderPoints(
      {.fewest = kMinMultiplyAdds,
       .most = kMaxMultiplyAdds,
       .array_bytes = array_bytes.value_or(0),
       .segment_count = kSegmentCount},
      [=](int64_t multiply_add_count) -> absl::StatusOr<std::unique_ptr<Workload>> {
        SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<ElementwiseArray> array, shared->Get());
        return std::make_unique<ElementwiseWorkload>(
            ElementwiseRun{.kernel = ElementwiseKernelOf(WidestSimd(context->features)),
                           .step_count = multiply_add_count,
                           .segment_count = kSegmentCount},
            std::move(array), context);
      });
}

}  // namespace sextant::probe
