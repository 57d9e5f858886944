#include "tests/validation/framework_memory.h"

#include <algorithm>
#include <iterator>

namespace sextant {
namespace {

constexpr int64_t kKib = 1024;
constexpr int64_t kMib = 1024 * kKib;
constexpr int kHopper = 9;
constexpr int64_t kTorchHandles = 2;
constexpr int64_t kGroupedMatmulStreams = 4;

}  // namespace

Bytes WorkspaceOf(const WorkspaceUse& use) {
  const bool recent = use.compute_capability >= kHopper;
  const int64_t fallback = recent ? 32 * kMib : (2 * 4096 + 8 * 16) * kKib;
  const int64_t torch = use.deterministic ? 8 * 4096 * kKib : fallback;
  const int64_t engine = use.transformer_engine ? (recent ? 32 : 4) * kMib : 0;
  return Bytes(kTorchHandles * torch +
               engine * (use.grouped_matmul ? 1 + kGroupedMatmulStreams : 1));
}

ReserveSpec ReserveWith(Bytes workspace, Framework framework, const MemoryJob& job) {
  const int64_t sizes[] = {job.layout.tensor_parallel_size, job.layout.pipeline_parallel_size,
                           job.layout.expert_parallel_size, job.batch.context_parallel_size,
                           job.state.sharding.data_parallel_size};
  const auto communicators =
      std::count_if(std::begin(sizes), std::end(sizes), [](int64_t size) { return size > 1; });
  ReserveSpec out = ReserveOf({.kind = framework}, communicators);
  out.workspace = workspace;
  return out;
}

}  // namespace sextant
