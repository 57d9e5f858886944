#include "gpu_probe/host/fusion_workload.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr float kScale = 0.5F;  // g's terms are of GELU for arguments about 1, and stay small

// Where x's, the residual's and the bias's numbers begin in the pattern.
constexpr int64_t kResidualStart = 314'159;
constexpr int64_t kBiasStart = 271'828;

// Some ten roundings of 2^-24, of intermediate values that the error bound takes for at most
// this many times 1 + |y|^4: the activation's largest term.
constexpr double kAllowed = 0x1p-19;

constexpr FusionPass kUnfused[] = {FusionPass::kScale, FusionPass::kAddBias, FusionPass::kActivate,
                                   FusionPass::kAddResidual};
static_assert(std::size(kUnfused) == kFusionOperationCount);

double Activation(double y) {
  return y * (kActivationLinear + y * (kActivationSquare + kActivationFourth * y * y));
}

}  // namespace

absl::StatusOr<std::shared_ptr<FusionArrays>> FusionArrays::Create(int64_t row_count,
                                                                   const HostContext& context) {
  auto arrays = std::make_shared<FusionArrays>();
  arrays->row_count = row_count;
  const int64_t bytes = row_count * kFusionChannelCount * static_cast<int64_t>(sizeof(float));
  SEXTANT_ASSIGN_OR_RETURN(arrays->x, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->residual, context.memory->Allocate(bytes));
  SEXTANT_ASSIGN_OR_RETURN(arrays->y, context.memory->Allocate(bytes));
  for (int64_t i = 0; i < kFusionChannelCount; ++i) {
    arrays->bias.push_back(arrays->pattern.at(kBiasStart + i));
  }
  context.team->Run([&](int index) {
    const Part rows = PartOf(row_count, index, context.team->size(), 1);
    for (int64_t i = rows.begin * kFusionChannelCount; i < rows.end * kFusionChannelCount; ++i) {
      arrays->x.As<float>()[i] = arrays->pattern.at(i);
      arrays->residual.As<float>()[i] = arrays->pattern.at(kResidualStart + i);
      arrays->y.As<float>()[i] = std::numeric_limits<float>::quiet_NaN();
    }
  });
  return arrays;
}

FusionWorkload::FusionWorkload(FusionKernel kernel, bool fused,
                               std::shared_ptr<FusionArrays> arrays, SharedContext context)
    : context_(std::move(context)), kernel_(kernel), fused_(fused), arrays_(std::move(arrays)) {}

Part FusionWorkload::RowsOfThread(int index) const {
  return PartOf(arrays_->row_count, index, context_->team->size(), 1);
}

FusionSpan FusionWorkload::SpanOf(const Part& rows) const {
  const int64_t first = rows.begin * kFusionChannelCount;
  return {.x = arrays_->x.As<float>() + first,
          .bias = arrays_->bias.data(),
          .residual = arrays_->residual.As<float>() + first,
          .y = arrays_->y.As<float>() + first,
          .row_count = rows.end - rows.begin,
          .scale = kScale};
}

void FusionWorkload::Poison() {
  context_->team->Run([&](int index) {
    const Part rows = RowsOfThread(index);
    float* const y = arrays_->y.As<float>();
    std::fill(y + rows.begin * kFusionChannelCount, y + rows.end * kFusionChannelCount,
              std::numeric_limits<float>::quiet_NaN());
  });
}

void FusionWorkload::Run(int64_t repetition_count) {
  context_->team->Run([&](int index) {
    const FusionSpan span = SpanOf(RowsOfThread(index));
    for (int64_t i = 0; i < repetition_count; ++i) {
      if (fused_) {
        kernel_(FusionPass::kAll, span);
        continue;
      }
      for (const FusionPass pass : kUnfused) kernel_(pass, span);
    }
  });
}

double FusionWorkload::Expected(int64_t i) const {
  const double scaled = double{kScale} * arrays_->pattern.at(i);
  const double biased = scaled + arrays_->bias[static_cast<size_t>(i % kFusionChannelCount)];
  return Activation(biased) + arrays_->pattern.at(kResidualStart + i);
}

int64_t FusionWorkload::FirstWrong(const Part& rows) const {
  const float* const y = arrays_->y.As<float>();
  for (int64_t i = rows.begin * kFusionChannelCount; i < rows.end * kFusionChannelCount; ++i) {
    const double biased = double{kScale} * arrays_->pattern.at(i) +
                          arrays_->bias[static_cast<size_t>(i % kFusionChannelCount)];
    const double allowed = kAllowed * (1 + std::pow(biased, 4));
    if (!(std::abs(y[i] - Expected(i)) <= allowed)) return i;
  }
  return -1;
}

absl::Status FusionWorkload::Check() {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run(
      [&](int index) { wrong[static_cast<size_t>(index)] = FirstWrong(RowsOfThread(index)); });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(
        absl::StrCat("element ", i, " is ", arrays_->y.As<float>()[i], ", not ", Expected(i)));
  }
  return absl::OkStatus();
}

}  // namespace sextant
