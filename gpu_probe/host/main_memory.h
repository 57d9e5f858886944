// How large arrays must be for caches not to hold them.
#ifndef SEXTANT_GPU_PROBE_HOST_MAIN_MEMORY_H_
#define SEXTANT_GPU_PROBE_HOST_MAIN_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/host/host_context.h"

namespace sextant {

// Arrays so large are passed over in this many segments, one a run: a sample is then short,
// and no segment comes again before all others have.
inline constexpr int64_t kSegmentCount = 16;

struct ArraysWanted {
  int array_count = 1;
  double cache_multiple = 4;  // what the arrays must be, times the last-level cache
  int64_t minimum_bytes = 0;  // and at least this, where the cap allows
};

// Bytes of each of `wanted.array_count` arrays that together fit into the memory cap: a
// multiple of a page.
//
// Errors: kResourceExhausted where the cap is too low, or too low for 1 GiB each on a host
// whose cache is not known.
absl::StatusOr<int64_t> ArrayBytes(const ArraysWanted& wanted, const HostContext& context);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_MAIN_MEMORY_H_
