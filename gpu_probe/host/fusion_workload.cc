#include "gpu_probe/host/fusion_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

constexpr float kScale = 0.5F;  // g's terms are of GELU for arguments about 1, and stay small

// Where x's, the residual's and the bias's numbers begin in the pattern.
constexpr int64_t kResidualStart = 314'159;
constexpr int64_t kBiasStart = 271'828;

// Some ten roundings of 2^-24 of values up to 1 + y^4 + |residual|: the activation's largest
// term, and what is added to it.
constexpr double kAllowed = 10 * 0x1p-24;

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
    std::fill(y + rows.begin * kFusionChannelCount, y + rows.end * kFusionChannelCount, kUnwritten);
  });
}

absl::Status FusionWorkload::Run(int64_t repetition_count) {
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
  return absl::OkStatus();
}

int64_t FusionWorkload::FirstWrongOfRow(int64_t row) const {
  std::array<float, kFusionChannelCount> x;
  std::array<float, kFusionChannelCount> residual;
  const int64_t first = row * kFusionChannelCount;
  arrays_->pattern.Copy(first, kFusionChannelCount, x.data());
  arrays_->pattern.Copy(kResidualStart + first, kFusionChannelCount, residual.data());
  const float* const y = arrays_->y.As<float>() + first;
  for (size_t i = 0; i < x.size(); ++i) {
    const double biased = double{kScale} * x[i] + arrays_->bias[i];
    const double expected = Activation(biased) + residual[i];
    const double square = biased * biased;
    const double allowed = kAllowed * (1 + square * square + std::abs(residual[i]));
    if (!(std::abs(y[i] - expected) <= allowed)) return first + static_cast<int64_t>(i);
  }
  return -1;
}

absl::Status FusionWorkload::Check() {
  std::vector<int64_t> wrong(static_cast<size_t>(context_->team->size()), -1);
  context_->team->Run([&](int index) {
    const Part rows = RowsOfThread(index);
    int64_t& found = wrong[static_cast<size_t>(index)];
    for (int64_t row = rows.begin; row < rows.end && found < 0; ++row) {
      found = FirstWrongOfRow(row);
    }
  });
  for (const int64_t i : wrong) {
    if (i < 0) continue;
    return absl::DataLossError(absl::StrCat("element ", i, " is ", arrays_->y.As<float>()[i],
                                            ", not what the chain of operations gives"));
  }
  return absl::OkStatus();
}

}  // namespace sextant
