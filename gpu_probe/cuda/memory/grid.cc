#include "gpu_probe/cuda/memory/grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "proto/text/format.h"

namespace sextant::probe {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kCacheMultiple = 4;
constexpr int64_t kAlwaysMainMemoryBytes = int64_t{1} << 30;

// For reports, sums and other small allocations, in addition to arrays.
constexpr int64_t kOtherBytes = 16 * kMebibyte;

}  // namespace

LaunchShape GridOver(int64_t count, const GpuSession& session) {
  return LaunchOver(
      count, kPassBlocksOfMultiprocessor * std::max<int64_t>(1, session.multiprocessor_count()));
}

absl::Status FillWhole(const DeviceMemory& memory, uint64_t seed, float scale,
                       GpuSession& session) {
  const int64_t count = memory.size_bytes() / static_cast<int64_t>(sizeof(float));
  return session.Launch("fill_whole_fp32", GridOver(count, session), memory.address(),
                        static_cast<uint64_t>(count), seed, scale);
}

bool IsMainMemory(int64_t array_bytes, const GpuSession& session) {
  const int64_t cache_bytes = session.cache_bytes();
  return array_bytes >= kAlwaysMainMemoryBytes ||
         (cache_bytes > 0 && array_bytes >= kCacheMultiple * cache_bytes);
}

int64_t MostArrayBytes(int array_count, const GpuSession& session) {
  const int64_t share =
      std::max<int64_t>(0, session.memory_cap_bytes() - kOtherBytes) / array_count;
  return share / kMebibyte * kMebibyte;
}

absl::StatusOr<int64_t> GpuArrayBytes(const GpuArraysWanted& wanted, const GpuSession& session) {
  const int64_t past_cache_bytes =
      session.cache_bytes() > 0
          ? CeilDivide(kCacheMultiple * session.cache_bytes(), kMebibyte) * kMebibyte
          : kAlwaysMainMemoryBytes;
  const int64_t bytes = std::min(std::max(wanted.wanted_bytes, past_cache_bytes),
                                 MostArrayBytes(wanted.array_count, session));
  if (bytes > 0 && IsMainMemory(bytes, session)) return bytes;
  return absl::ResourceExhaustedError(absl::StrCat(
      "needs ", wanted.array_count, " array(s) of ", text::BinaryBytes(past_cache_bytes),
      " on the GPU, which its cache can't hold, and the probe may take ",
      text::BinaryBytes(session.memory_cap_bytes()),
      "; free some of its memory, or raise --memory_cap"));
}

}  // namespace sextant::probe
