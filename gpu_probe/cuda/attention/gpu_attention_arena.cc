#include "gpu_probe/cuda/attention/gpu_attention_arena.h"

#include <algorithm>
#include <utility>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr unsigned kFillBlocksPerMultiprocessor = 8;

AttentionBytes MostBytes(const std::vector<GpuAttentionShape>& shapes, bool backward) {
  AttentionBytes most = {};
  for (const GpuAttentionShape& shape : shapes) {
    const AttentionBytes bytes = AttentionBytesOf(shape, backward);
    for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], bytes[i]);
  }
  return most;
}

// Each tensor has numbers of its own.
absl::Status FillNormal(const DeviceMemory& memory, uint64_t seed, GpuSession& session) {
  const auto count = static_cast<unsigned long long>(memory.size_bytes() / 2);
  const auto blocks =
      static_cast<unsigned>(session.multiprocessor_count()) * kFillBlocksPerMultiprocessor;
  return session.Launch("fill_normal_bf16", {.block_count = blocks}, memory.address(), count,
                        static_cast<unsigned long long>(seed << 40));
}

}  // namespace

absl::StatusOr<std::shared_ptr<GpuAttentionArena>> GpuAttentionArena::Create(
    const std::vector<GpuAttentionShape>& shapes, bool backward, const SharedSession& session) {
  const AttentionBytes bytes = MostBytes(shapes, backward);
  std::array<DeviceMemory, kAttentionTensorCount> memory;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (bytes[i] == 0) continue;
    SEXTANT_ASSIGN_OR_RETURN(memory[i], DeviceMemory::Allocate(session, bytes[i]));
  }
  for (const AttentionTensor which :
       {AttentionTensor::kQueries, AttentionTensor::kKeys, AttentionTensor::kValues,
        AttentionTensor::kOutputGradients}) {
    const DeviceMemory& tensor = memory[static_cast<size_t>(which)];
    if (tensor.size_bytes() == 0) continue;
    SEXTANT_RETURN_IF_ERROR(FillNormal(tensor, static_cast<uint64_t>(which) + 1, *session));
  }
  SEXTANT_ASSIGN_OR_RETURN(GpuAttentionCheck check,
                           GpuAttentionCheck::Create(shapes, backward, session));
  return std::make_shared<GpuAttentionArena>(
      GpuAttentionArena{.memory = std::move(memory), .check = std::move(check)});
}

}  // namespace sextant
