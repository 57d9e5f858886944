#include "tests/validation/framework_memory.h"

namespace sextant {
namespace {

constexpr int64_t kKib = 1024;
constexpr int64_t kMib = 1024 * kKib;
constexpr int kHopper = 9;
constexpr int64_t kTorchHandles = 2;
constexpr int64_t kGroupedGemmStreams = 4;

}  // namespace

Bytes WorkspaceOf(const WorkspaceUse& use) {
  const bool recent = use.compute_capability >= kHopper;
  const int64_t fallback = recent ? 32 * kMib : (2 * 4096 + 8 * 16) * kKib;
  const int64_t torch = use.deterministic ? 8 * 4096 * kKib : fallback;
  const int64_t engine = use.transformer_engine ? (recent ? 32 : 4) * kMib : 0;
  return Bytes(kTorchHandles * torch + engine * (use.grouped_gemm ? 1 + kGroupedGemmStreams : 1));
}

}  // namespace sextant
