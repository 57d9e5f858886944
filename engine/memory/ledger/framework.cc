#include "engine/memory/ledger/framework.h"

#include <type_traits>

#include "engine/memory/fit.h"

namespace sextant {
namespace {

constexpr int64_t kMaxBucketElements = 1'000'000'000'000;
constexpr double kMaxFragmentation = 10;

// Elements that DeepSpeed reduces or gathers at a time. Source: its configuration's defaults,
// "ZeRO Optimizations for FP16 Training": reduce_bucket_size and allgather_bucket_size, 5e8 each.
constexpr int64_t kDeepSpeedBucketElements = 500'000'000;

// cuBLAS on Hopper and later. Source: PyTorch, notes on CUDA semantics, "cuBLAS workspaces".
constexpr int64_t kCublasWorkspaceBytes = int64_t{32} << 20;

// Measured over counted, less 1: 10th percentile, none, 90th percentile of 220 runs whose
// configuration is fully known. Source: docs/accuracy_memory.md.
constexpr ShareInterval kUncounted = {.low = -0.0008, .expected = 0, .high = 0.029};

// Reserved over allocated, minus 1: minimum, median and maximum of 28 runs of Megatron-LM on B200
// that publish both. Source: SimuMax's documentation of real runs; docs/memory.md.
constexpr ShareInterval kFragmentation = {.low = 0.029, .expected = 0.053, .high = 0.079};

// The low end is a process that loads kernels on demand, the high end one that loaded all of
// PyTorch's. Source: pytorch/pytorch issue 107667, about 300 MB and more than 1,000 MB; between
// them the 0.5 GiB of common rules of thumb.
constexpr BytesInterval kContext = {
    .low = Bytes(300'000'000), .expected = Bytes(536'870'912), .high = Bytes(1'100'000'000)};

// One communicator. Source: NVIDIA/nccl issue 964 on 4 A100, 544 MB with 2 ranks and 688 MB with
// more; issue 864, 1.6 GB for the first one.
constexpr BytesInterval kCommunicator = {
    .low = Bytes(544'000'000), .expected = Bytes(688'000'000), .high = Bytes(1'600'000'000)};

BytesInterval Exactly(int64_t bytes) { return {Bytes(bytes), Bytes(bytes), Bytes(bytes)}; }

BytesInterval Times(const BytesInterval& interval, int64_t count) {
  return {interval.low * count, interval.expected * count, interval.high * count};
}

template <typename T>
void RequireIfGiven(const absl::optional<T>& value, absl::string_view name, T most,
                    absl::string_view path, FieldViolations& violations) {
  if (!value.has_value()) return;
  if constexpr (std::is_same_v<T, double>) {
    violations.RequireRange(path, name, *value, {.low = 0, .high = most});
  } else {
    violations.RequireRange(path, name, *value, 0, most);
  }
}

}  // namespace

absl::string_view FrameworkName(Framework framework) {
  switch (framework) {
    case Framework::kMegatronLm:
      return "megatron_lm";
    case Framework::kDeepSpeed:
      return "deepspeed";
    case Framework::kPytorchFsdp:
      break;
  }
  return "pytorch_fsdp";
}

ZeroStage DefaultZeroStage(Framework framework) {
  return framework == Framework::kPytorchFsdp ? ZeroStage::kParameters : ZeroStage::kNone;
}

bool DefaultReshardAfterForward(Framework framework, const ParallelLayout& layout) {
  return framework != Framework::kPytorchFsdp || layout.pipeline_parallel_size == 1;
}

BufferSpec BuffersOf(const FrameworkSpec& framework, const ParallelLayout& layout) {
  BufferSpec out;
  const bool fsdp = framework.kind == Framework::kPytorchFsdp;
  out.gradient_lifetime = framework.persistent_gradients.value_or(!fsdp)
                              ? GradientLifetime::kAlways
                              : GradientLifetime::kFromBackward;
  out.fused_weight_gradient =
      framework.fused_weight_gradient.value_or(framework.kind == Framework::kMegatronLm);
  const int64_t bucket = framework.kind == Framework::kDeepSpeed ? kDeepSpeedBucketElements : 0;
  out.reduce_bucket_elements = framework.reduce_bucket_elements.value_or(bucket);
  out.gather_bucket_elements = framework.gather_bucket_elements.value_or(bucket);
  out.computed_gradients_stay = framework.kind == Framework::kDeepSpeed;
  out.deferred_reduction =
      framework.deferred_reduction.value_or(fsdp && layout.pipeline_parallel_size > 1);
  out.autocast = fsdp;
  return out;
}

ReserveSpec ReserveOf(const FrameworkSpec& framework, int64_t communicator_count) {
  ReserveSpec out;
  out.workspace = Bytes(framework.workspace_bytes.value_or(kCublasWorkspaceBytes));
  out.uncounted = kUncounted;
  out.fragmentation = kFragmentation;
  if (framework.fragmentation_ratio.has_value()) {
    const double given = *framework.fragmentation_ratio;
    out.fragmentation = {given, given, given};
  }
  out.context = framework.context_bytes.has_value() ? Exactly(*framework.context_bytes) : kContext;
  out.communicators = framework.communicator_bytes.has_value()
                          ? Exactly(*framework.communicator_bytes)
                          : Times(kCommunicator, communicator_count);
  return out;
}

void CheckFramework(const FrameworkSpec& framework, absl::string_view path,
                    FieldViolations& violations) {
  const auto require = [&](const auto& value, absl::string_view name, auto most) {
    RequireIfGiven(value, name, most, path, violations);
  };
  require(framework.reduce_bucket_elements, "reduce_bucket_elements", kMaxBucketElements);
  require(framework.gather_bucket_elements, "gather_bucket_elements", kMaxBucketElements);
  require(framework.workspace_bytes, "workspace_bytes", kMaxDeviceMemoryBytes);
  require(framework.fragmentation_ratio, "fragmentation_ratio", kMaxFragmentation);
  require(framework.context_bytes, "context_bytes", kMaxDeviceMemoryBytes);
  require(framework.communicator_bytes, "communicator_bytes", kMaxDeviceMemoryBytes);
}

}  // namespace sextant
