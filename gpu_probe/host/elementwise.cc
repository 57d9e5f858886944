#include "gpu_probe/host/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
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
template <int kBytes>
using FloatsOf = typename VectorOf<float, kBytes>::Type;

template <int kBytes>
SEXTANT_INLINE_BODY void Activate(FloatsOf<kBytes>* y) {
  constexpr float kLinear = static_cast<float>(kActivationLinear);
  constexpr float kSquare = static_cast<float>(kActivationSquare);
  constexpr float kFourth = static_cast<float>(kActivationFourth);
  *y = *y * (kLinear + *y * (kSquare + kFourth * (*y * *y)));
}

// Processes one row; `kPass` is a template parameter, so that no branch is taken for each element.
template <int kBytes, FusionPass kPass>
SEXTANT_INLINE_BODY void Row(const FusionSpan& span, int64_t first) {
  using Vector = FloatsOf<kBytes>;
  constexpr int64_t kVectors = kFusionChannelCount / VectorOf<float, kBytes>::kLaneCount;
  const auto* const x = reinterpret_cast<const Vector*>(span.x + first);
  const auto* const bias = reinterpret_cast<const Vector*>(span.bias);
  const auto* const residual = reinterpret_cast<const Vector*>(span.residual + first);
  auto* const to = reinterpret_cast<Vector*>(span.y + first);
  constexpr bool kAll = kPass == FusionPass::kAll;
  constexpr bool kFromX = kAll || kPass == FusionPass::kScale;
  for (int64_t i = 0; i < kVectors; ++i) {
    Vector y = kFromX ? span.scale * x[i] : to[i];
    if constexpr (kAll || kPass == FusionPass::kAddBias) y = y + bias[i];
    if constexpr (kAll || kPass == FusionPass::kActivate) Activate<kBytes>(&y);
    if constexpr (kAll || kPass == FusionPass::kAddResidual) y = y + residual[i];
    to[i] = y;
  }
}

template <int kBytes, FusionPass kPass>
SEXTANT_INLINE_BODY void Rows(const FusionSpan& span) {
  for (int64_t r = 0; r < span.row_count; ++r) Row<kBytes, kPass>(span, r * kFusionChannelCount);
}

template <int kBytes>
SEXTANT_INLINE_BODY void Chain(FusionPass pass, const FusionSpan& span) {
  switch (pass) {
    case FusionPass::kScale:
      return Rows<kBytes, FusionPass::kScale>(span);
    case FusionPass::kAddBias:
      return Rows<kBytes, FusionPass::kAddBias>(span);
    case FusionPass::kActivate:
      return Rows<kBytes, FusionPass::kActivate>(span);
    case FusionPass::kAddResidual:
      return Rows<kBytes, FusionPass::kAddResidual>(span);
    case FusionPass::kAll:
      return Rows<kBytes, FusionPass::kAll>(span);
  }
}

void ChainBase(FusionPass pass, const FusionSpan& span) { Chain<kBaseBytes>(pass, span); }
SEXTANT_TARGET_AVX2 void ChainAvx2(FusionPass pass, const FusionSpan& span) {
  Chain<kAvx2Bytes>(pass, span);
}
SEXTANT_TARGET_AVX512 void ChainAvx512(FusionPass pass, const FusionSpan& span) {
  Chain<kAvx512Bytes>(pass, span);
}

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

constexpr float kScale = 0.5F;  // g approximates GELU for arguments about 1

// Where the numbers of x, the residual and the bias start in the pattern.
constexpr int64_t kResidualStart = 314'159;
constexpr int64_t kBiasStart = 271'828;

// Some ten roundings of 2^-24 of values up to 1 + y^4 + |residual|: the activation's largest term,
// and the terms added to it.
constexpr double kAllowed = 10 * 0x1p-24;

constexpr FusionPass kUnfused[] = {FusionPass::kScale, FusionPass::kAddBias, FusionPass::kActivate,
                                   FusionPass::kAddResidual};
static_assert(std::size(kUnfused) == kFusionOperationCount);

double Activation(double y) {
  return y * (kActivationLinear + y * (kActivationSquare + kActivationFourth * y * y));
}

constexpr int64_t kRowBytes = kFusionChannelCount * static_cast<int64_t>(sizeof(float));

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
  return LadderPoints(
      {.fewest = kMinMultiplyAdds,
       .most = kMaxMultiplyAdds,
       .array_bytes = array_bytes.value_or(0),
       .segment_count = kSegmentCount},
      OnArrays<int64_t, ElementwiseArray>(
          array_bytes,
          [=](int64_t bytes) { return ElementwiseArray::Create(bytes / kFloatBytes, *context); },
          [=](int64_t multiply_add_count, const std::shared_ptr<ElementwiseArray>& array) {
            return std::make_unique<ElementwiseWorkload>(
                ElementwiseRun{.kernel = ElementwiseKernelOf(WidestSimd(context->features)),
                               .step_count = multiply_add_count,
                               .segment_count = kSegmentCount},
                array, context);
          }));
}

FusionKernel FusionKernelOf(SimdLevel level) {
  return KernelsByLevel<FusionKernel>{.base = ChainBase, .avx2 = ChainAvx2, .avx512 = ChainAvx512}
      .At(level);
}

absl::StatusOr<std::shared_ptr<FusionArrays>> FusionArrays::Create(int64_t row_count,
                                                                   const HostContext& context) {
  auto arrays = std::make_shared<FusionArrays>();
  arrays->row_count = row_count;
  const int64_t bytes = row_count * kFusionChannelCount * static_cast<int64_t>(sizeof(float));
  SEXTANT_ASSIGN_OR_RETURN(arrays->x, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->residual, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->y, context.memory->Allocate(bytes));
  arrays->bias.resize(static_cast<size_t>(kFusionChannelCount));
  arrays->pattern.Copy(kBiasStart, kFusionChannelCount, arrays->bias.data());
  context.team->Run([&](int index) {
    const Part rows = PartOf(row_count, index, context.team->size(), 1);
    const int64_t begin = rows.begin * kFusionChannelCount;
    const int64_t count = (rows.end - rows.begin) * kFusionChannelCount;
    arrays->pattern.Copy(begin, count, arrays->x.As<float>() + begin);
    arrays->pattern.Copy(kResidualStart + begin, count, arrays->residual.As<float>() + begin);
    std::fill_n(arrays->y.As<float>() + begin, count, kUnwritten);
  });
  return arrays;
}

FusionWorkload::FusionWorkload(FusionKernel kernel, bool fused,
                               std::shared_ptr<FusionArrays> arrays, SharedContext context)
    : ArrayWorkload(std::move(context), {.element_count = arrays->row_count * kFusionChannelCount,
                                         .block = kFusionChannelCount}),
      kernel_(kernel),
      fused_(fused),
      arrays_(std::move(arrays)) {}

void FusionWorkload::PoisonPart(const Part& part) {
  std::fill(arrays_->y.As<float>() + part.begin, arrays_->y.As<float>() + part.end, kUnwritten);
}

void FusionWorkload::RunPart(int /*index*/, const Part& part, int64_t times) {
  const FusionSpan span = {.x = arrays_->x.As<float>() + part.begin,
                           .bias = arrays_->bias.data(),
                           .residual = arrays_->residual.As<float>() + part.begin,
                           .y = arrays_->y.As<float>() + part.begin,
                           .row_count = (part.end - part.begin) / kFusionChannelCount,
                           .scale = kScale};
  for (int64_t i = 0; i < times; ++i) {
    if (fused_) {
      kernel_(FusionPass::kAll, span);
      continue;
    }
    for (const FusionPass pass : kUnfused) kernel_(pass, span);
  }
}

int64_t FusionWorkload::FirstWrong(const Part& part) const {
  std::array<float, kFusionChannelCount> x;
  std::array<float, kFusionChannelCount> residual;
  for (int64_t row = part.begin; row < part.end; row += kFusionChannelCount) {
    arrays_->pattern.Copy(row, kFusionChannelCount, x.data());
    arrays_->pattern.Copy(kResidualStart + row, kFusionChannelCount, residual.data());
    const float* const y = arrays_->y.As<float>() + row;
    for (size_t i = 0; i < x.size(); ++i) {
      const double biased = double{kScale} * x[i] + arrays_->bias[i];
      const double expected = Activation(biased) + residual[i];
      const double square = biased * biased;
      const double allowed = kAllowed * (1 + square * square + std::abs(residual[i]));
      if (!(std::abs(y[i] - expected) <= allowed)) return row + static_cast<int64_t>(i);
    }
  }
  return -1;
}

std::string FusionWorkload::Fault(int64_t element) const {
  return absl::StrCat("is ", arrays_->y.As<float>()[element],
                      ", not what the chain of operations gives");
}

std::vector<Point> FusionPoints(const SharedContext& context) {
  const auto array_bytes = ArrayBytes({.array_count = 3, .cache_multiple = 2}, *context);
  return FusionPair(
      array_bytes.value_or(0),
      OnArrays<bool, FusionArrays>(
          array_bytes,
          [=](int64_t bytes) { return FusionArrays::Create(bytes / kRowBytes, *context); },
          [=](bool fused, const std::shared_ptr<FusionArrays>& arrays) {
            return std::make_unique<FusionWorkload>(FusionKernelOf(WidestSimd(context->features)),
                                                    fused, arrays, context);
          }));
}

}  // namespace sextant::probe
