#include "gpu_probe/host/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"

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
constexpr int64_t kMovedBytesAnElement = 2 * kFloatBytes;  // read and written

// The ladder's array, which lives while a workload uses it.
struct ArraySource {
  absl::StatusOr<int64_t> array_bytes;
  std::weak_ptr<ElementwiseArray> array = {};
};

absl::StatusOr<std::unique_ptr<Workload>> Make(int64_t multiply_add_count, ArraySource* source,
                                               const SharedContext& context) {
  SEXTANT_RETURN_IF_ERROR(source->array_bytes.status());
  std::shared_ptr<ElementwiseArray> array = source->array.lock();
  if (array == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(
        array, ElementwiseArray::Create(*source->array_bytes / kFloatBytes, *context));
    source->array = array;
  }
  return std::make_unique<ElementwiseWorkload>(
      ElementwiseRun{.kernel = ElementwiseKernelOf(WidestSimd(context->features)),
                     .step_count = multiply_add_count,
                     .segment_count = kSegmentCount},
      std::move(array), context);
}

Point PointOf(int64_t multiply_add_count, std::shared_ptr<ArraySource> source,
              const SharedContext& context) {
  const int64_t array_bytes = source->array_bytes.value_or(0);
  const double element_count = static_cast<double>(array_bytes / kFloatBytes);
  const double flops = 2 * static_cast<double>(multiply_add_count) * element_count;
  const double bytes = kMovedBytesAnElement * element_count;
  Point point;
  point.phase = "elementwise";
  point.label = absl::StrCat("fp32, ", multiply_add_count, " multiply-adds an element");
  point.work = flops / kSegmentCount;
  point.unit = "FLOP/s";
  point.make = [=] { return Make(multiply_add_count, source.get(), context); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::ElementwiseMeasurement* const measured = out->add_elementwise();
    measured->set_multiply_add_count(multiply_add_count);
    measured->set_flops_per_byte(flops / bytes);
    measured->set_array_bytes(array_bytes);
    *measured->mutable_time() = TimeOfPass(time, kSegmentCount);
    measured->set_flops_per_second(flops / measured->time().median_seconds());
    measured->set_bytes_per_second(bytes / measured->time().median_seconds());
  };
  return point;
}

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
    : context_(std::move(context)), run_(run), array_(std::move(array)) {}

Part ElementwiseWorkload::PartOfThread(int index, int64_t segment) const {
  return SegmentPart(ThreadPart(array_->count, index, context_->team->size()), segment,
                     run_.segment_count);
}

void ElementwiseWorkload::Poison() {
  poisoned_segment_ = next_segment_;
  runs_since_poison_ = 0;
  context_->team->Run([&](int index) {
    const Part part = PartOfThread(index, poisoned_segment_);
    array_->pattern.Copy(part.begin, part.end - part.begin, array_->x.As<float>() + part.begin);
  });
}

absl::Status ElementwiseWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    for (int64_t i = 0; i < repetition_count; ++i) {
      const Part part = PartOfThread(index, (next_segment_ + i) % run_.segment_count);
      run_.kernel({.x = array_->x.As<float>() + part.begin,
                   .count = part.end - part.begin,
                   .step_count = run_.step_count,
                   .a = kFactor,
                   .b = kSummand});
    }
  });
  next_segment_ = (next_segment_ + repetition_count) % run_.segment_count;
  runs_since_poison_ += repetition_count;
  return absl::OkStatus();
}

int64_t ElementwiseWorkload::FirstWrong(const Part& part) const {
  const double steps =
      static_cast<double>(CeilDivide(runs_since_poison_, run_.segment_count) * run_.step_count);
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

absl::Status ElementwiseWorkload::Check() {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run([&](int index) {
    wrong[static_cast<size_t>(index)] = FirstWrong(PartOfThread(index, poisoned_segment_));
  });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(absl::StrCat("element ", i, " is ", array_->x.As<float>()[i],
                                            " after ", run_.step_count,
                                            " multiply-adds a pass, not what they give"));
  }
  return absl::OkStatus();
}

std::vector<Point> ElementwisePoints(const SharedContext& context) {
  const auto source = std::make_shared<ArraySource>(
      ArraySource{.array_bytes = ArrayBytes({.minimum_bytes = int64_t{128} << 20}, *context)});
  std::vector<Point> points;
  for (int64_t count = kMinMultiplyAdds; count <= kMaxMultiplyAdds; count *= 2) {
    points.push_back(PointOf(count, source, context));
  }
  return points;
}

}  // namespace sextant::probe
