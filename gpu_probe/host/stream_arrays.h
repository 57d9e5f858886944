// The arrays that the streams pass over.
#ifndef SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_
#define SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_probe/host/host_context.h"

namespace sextant {

// Arrays of doubles that hold whole numbers below 2^22, so that every sum, scaled value and
// triad is exact whatever the order. `c` holds NaN.
struct StreamArrays {
  Buffer a;
  Buffer b;
  Buffer c;
  int64_t count = 0;  // elements of each

  // a[i] and b[i], computed anew.
  static double AValue(int64_t i);
  static double BValue(int64_t i);

  // Each thread fills the part (ThreadPart()) that it will pass over.
  //
  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<StreamArrays>> Create(int64_t count,
                                                              const HostContext& context);
};

// The part of an array of `count` elements that belongs to one thread.
Part ThreadPart(int64_t count, int index, int thread_count);

// That part's piece `segment` of `segment_count`; pieces with one number make up a segment.
Part SegmentPart(const Part& part, int64_t segment, int64_t segment_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_
