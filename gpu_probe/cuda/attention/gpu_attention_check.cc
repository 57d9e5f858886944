#include "gpu_probe/cuda/attention/gpu_attention_check.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

constexpr unsigned kCheckThreads = 256;
constexpr int64_t kDoubleBytes = 8;

AttentionSizes AttentionSizesOf(const GpuAttentionShape& shape) {
  return {.sequence = shape.sequence,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_size = shape.head_size,
          .value_head_size = shape.value_head_size,
          .causal = shape.causal ? 1 : 0,
          .scale = static_cast<double>(shape.scale())};
}

cuda::Address At(const AttentionAddresses& at, AttentionTensor which) {
  return at[static_cast<size_t>(which)];
}

}  // namespace

absl::StatusOr<GpuAttentionCheck> GpuAttentionCheck::Create(
    const std::vector<GpuAttentionShape>& shapes, bool backward, const SharedSession& session) {
  int64_t weight_count = 0;
  for (const GpuAttentionShape& shape : shapes) {
    const int64_t rows = kAttentionSampleCount * (backward ? shape.group() : 1);
    weight_count = std::max(weight_count, rows * shape.sequence);
  }
  SEXTANT_ASSIGN_OR_RETURN(GpuCheck reports, GpuCheck::Create(session));
  GpuAttentionCheck check(session, std::move(reports));
  const auto allocate = [&](int64_t size_bytes) {
    return DeviceMemory::Allocate(session, size_bytes);
  };
  SEXTANT_ASSIGN_OR_RETURN(check.samples_memory_,
                           allocate(kAttentionSampleCount * int64_t{sizeof(AttentionSample)}));
  SEXTANT_ASSIGN_OR_RETURN(check.log_sums_, allocate(kAttentionSampleCount * kDoubleBytes));
  SEXTANT_ASSIGN_OR_RETURN(check.weights_, allocate(weight_count * kDoubleBytes));
  if (backward) {
    SEXTANT_ASSIGN_OR_RETURN(check.gradients_, allocate(weight_count * kDoubleBytes));
  }
  return check;
}

LaunchShape GpuAttentionCheck::ThreadsFor(int64_t count) const {
  return {.block_count = static_cast<unsigned>((count + kCheckThreads - 1) / kCheckThreads),
          .thread_count = kCheckThreads};
}

absl::Status GpuAttentionCheck::Draw(const GpuAttentionShape& shape, int64_t heads) {
  std::mt19937_64 random(++draw_count_);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  samples_.clear();
  for (int64_t i = 0; i < kAttentionSampleCount; ++i) {
    samples_.push_back(
        {.batch = below(shape.batch), .head = below(heads), .token = below(shape.sequence)});
  }
  samples_[0].token = 0;
  samples_[1].token = shape.sequence - 1;
  return session_->CopyToDevice(samples_memory_.address(), samples_.data(),
                                samples_memory_.size_bytes());
}

absl::Status GpuAttentionCheck::RowWeights(const GpuAttentionShape& shape,
                                           const AttentionAddresses& at) {
  const LaunchShape each_pair = ThreadsFor(kAttentionSampleCount * shape.sequence);
  SEXTANT_RETURN_IF_ERROR(
      session_->Launch("attention_row_scores", each_pair, weights_.address(),
                       At(at, AttentionTensor::kQueries), At(at, AttentionTensor::kKeys),
                       samples_memory_.address(), kAttentionSampleCount, AttentionSizesOf(shape)));
  SEXTANT_RETURN_IF_ERROR(session_->Launch("attention_row_sums", ThreadsFor(kAttentionSampleCount),
                                           log_sums_.address(), weights_.address(),
                                           kAttentionSampleCount, shape.sequence));
  return session_->Launch("attention_row_weights", each_pair, weights_.address(),
                          log_sums_.address(), kAttentionSampleCount, shape.sequence);
}

std::string GpuAttentionCheck::Place(const AttentionSample& sample) const {
  return absl::StrCat("sequence ", sample.batch, ", head ", sample.head, ", token ", sample.token);
}

absl::Status GpuAttentionCheck::Compare(const Compared& compared, const GpuAttentionShape& shape,
                                        const AttentionAddresses& at) {
  const int64_t count = kAttentionSampleCount * compared.width;
  SEXTANT_ASSIGN_OR_RETURN(
      const GpuCheckReport report,
      check_.Run(compared.kernel, ThreadsFor(count), At(at, compared.out), compared.weights,
                 At(at, compared.from), samples_memory_.address(), kAttentionSampleCount,
                 AttentionSizesOf(shape), compared.width, compared.factor));
  if (report.wrong_count == 0) return absl::OkStatus();
  const auto first = static_cast<int64_t>(report.first_wrong);
  return absl::DataLossError(absl::StrCat(
      report.wrong_count, " of ", count, " ", compared.what, " that were compared are wrong, at ",
      Place(samples_[static_cast<size_t>(first / compared.width % kAttentionSampleCount)]),
      ", feature ", first % compared.width, " first"));
}

absl::Status GpuAttentionCheck::Written(AttentionTensor which, const char* what, int64_t count,
                                        const AttentionAddresses& at) {
  const bool fp32 = which == AttentionTensor::kStatistics;
  // The upper half of an fp32 number is its second 16-bit word.
  const cuda::Address data = At(at, which) + (fp32 ? 2 : 0);
  SEXTANT_ASSIGN_OR_RETURN(
      const GpuCheckReport report,
      check_.Run("check_attention_written", ThreadsFor(count), data, count, int64_t{fp32 ? 2 : 1}));
  if (report.wrong_count == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(report.wrong_count, " of ", count, " ", what,
                                          " were not written or are not finite, number ",
                                          report.first_wrong, " first"));
}

absl::Status GpuAttentionCheck::Forward(const GpuAttentionShape& shape,
                                        const AttentionAddresses& at) {
  const int64_t rows = shape.tokens() * shape.heads;
  SEXTANT_RETURN_IF_ERROR(
      Written(AttentionTensor::kOutputs, "outputs", rows * shape.value_head_size, at));
  SEXTANT_RETURN_IF_ERROR(
      Written(AttentionTensor::kStatistics, "statistics of the softmax", rows, at));
  SEXTANT_RETURN_IF_ERROR(Draw(shape, shape.heads));
  SEXTANT_RETURN_IF_ERROR(RowWeights(shape, at));
  SEXTANT_ASSIGN_OR_RETURN(
      const GpuCheckReport report,
      check_.Run("check_attention_statistics", ThreadsFor(kAttentionSampleCount),
                 At(at, AttentionTensor::kStatistics), log_sums_.address(),
                 samples_memory_.address(), kAttentionSampleCount, AttentionSizesOf(shape)));
  if (report.wrong_count > 0) {
    return absl::DataLossError(
        absl::StrCat(report.wrong_count, " of ", kAttentionSampleCount,
                     " statistics of the softmax that were compared are wrong, at ",
                     Place(samples_[report.first_wrong % kAttentionSampleCount]), " first"));
  }
  return Compare({.kernel = "check_attention_rows",
                  .out = AttentionTensor::kOutputs,
                  .from = AttentionTensor::kValues,
                  .weights = weights_.address(),
                  .width = shape.value_head_size,
                  .what = "outputs"},
                 shape, at);
}

absl::Status GpuAttentionCheck::Backward(const GpuAttentionShape& shape,
                                         const AttentionAddresses& at) {
  const int64_t query_count = shape.tokens() * shape.heads * shape.head_size;
  const int64_t key_count = shape.tokens() * shape.kv_heads * shape.head_size;
  const int64_t value_count = shape.tokens() * shape.kv_heads * shape.value_head_size;
  SEXTANT_RETURN_IF_ERROR(
      Written(AttentionTensor::kQueryGradients, "gradients of queries", query_count, at));
  SEXTANT_RETURN_IF_ERROR(
      Written(AttentionTensor::kKeyGradients, "gradients of keys", key_count, at));
  SEXTANT_RETURN_IF_ERROR(
      Written(AttentionTensor::kValueGradients, "gradients of values", value_count, at));

  SEXTANT_RETURN_IF_ERROR(Draw(shape, shape.heads));
  SEXTANT_RETURN_IF_ERROR(RowWeights(shape, at));
  SEXTANT_RETURN_IF_ERROR(session_->Launch(
      "attention_row_gradients", ThreadsFor(kAttentionSampleCount * shape.sequence),
      weights_.address(), At(at, AttentionTensor::kOutputGradients),
      At(at, AttentionTensor::kOutputs), At(at, AttentionTensor::kValues),
      samples_memory_.address(), kAttentionSampleCount, AttentionSizesOf(shape)));
  const auto scale = static_cast<double>(shape.scale());
  SEXTANT_RETURN_IF_ERROR(Compare({.kernel = "check_attention_rows",
                                   .out = AttentionTensor::kQueryGradients,
                                   .from = AttentionTensor::kKeys,
                                   .weights = weights_.address(),
                                   .width = shape.head_size,
                                   .factor = scale,
                                   .what = "gradients of queries"},
                                  shape, at));

  SEXTANT_RETURN_IF_ERROR(Draw(shape, shape.kv_heads));
  SEXTANT_RETURN_IF_ERROR(session_->Launch(
      "attention_column_weights",
      ThreadsFor(kAttentionSampleCount * shape.group() * shape.sequence), weights_.address(),
      gradients_.address(), At(at, AttentionTensor::kQueries), At(at, AttentionTensor::kKeys),
      At(at, AttentionTensor::kValues), At(at, AttentionTensor::kOutputs),
      At(at, AttentionTensor::kStatistics), At(at, AttentionTensor::kOutputGradients),
      samples_memory_.address(), kAttentionSampleCount, AttentionSizesOf(shape)));
  SEXTANT_RETURN_IF_ERROR(Compare({.kernel = "check_attention_columns",
                                   .out = AttentionTensor::kValueGradients,
                                   .from = AttentionTensor::kOutputGradients,
                                   .weights = weights_.address(),
                                   .width = shape.value_head_size,
                                   .what = "gradients of values"},
                                  shape, at));
  return Compare({.kernel = "check_attention_columns",
                  .out = AttentionTensor::kKeyGradients,
                  .from = AttentionTensor::kQueries,
                  .weights = gradients_.address(),
                  .width = shape.head_size,
                  .factor = scale,
                  .what = "gradients of keys"},
                 shape, at);
}

}  // namespace sextant::probe
