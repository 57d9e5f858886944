#include "gpu_probe/host/fusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/points/memory.h"

namespace sextant::probe {
namespace {

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
SEXTANT_INLINE_BODY void Pass(FusionPass pass, const FusionSpan& span) {
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

void PassBase(FusionPass pass, const FusionSpan& span) { Pass<kBaseBytes>(pass, span); }
SEXTANT_TARGET_AVX2 void PassAvx2(FusionPass pass, const FusionSpan& span) {
  Pass<kAvx2Bytes>(pass, span);
}
SEXTANT_TARGET_AVX512 void PassAvx512(FusionPass pass, const FusionSpan& span) {
  Pass<kAvx512Bytes>(pass, span);
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

FusionKernel FusionKernelOf(SimdLevel level) {
  return KernelsByLevel<FusionKernel>{.base = PassBase, .avx2 = PassAvx2, .avx512 = PassAvx512}.At(
      level);
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
  const auto shared = std::make_shared<SharedData<FusionArrays>>(
      [=]() -> absl::StatusOr<std::shared_ptr<FusionArrays>> {
        SEXTANT_RETURN_IF_ERROR(array_bytes.status());
        return FusionArrays::Create(*array_bytes / kRowBytes, *context);
      });
  return FusionPair(
      array_bytes.value_or(0), [=](bool fused) -> absl::StatusOr<std::unique_ptr<Workload>> {
        SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<FusionArrays> arrays, shared->Get());
        return std::make_unique<FusionWorkload>(FusionKernelOf(WidestSimd(context->features)),
                                                fused, std::move(arrays), context);
      });
}

}  // namespace sextant::probe
