// The arrays that the streams pass over.
#ifndef SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_
#define SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/repeating_pattern.h"

namespace sextant {

// Arrays of doubles that hold whole numbers below 2^22, so that every sum, scaled value and
// triad is exact whatever the order. c starts as zeros, which no operation leaves there.
class StreamArrays {
 public:
  // a and c, of `count` elements each. Each thread is the first to write the part
  // (ThreadPart()) that it will pass over.
  //
  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<StreamArrays>> Create(int64_t count,
                                                              const HostContext& context);

  // Makes b, unless it is there.
  //
  // Errors: kResourceExhausted.
  absl::Status AddB(const HostContext& context);

  int64_t count() const { return count_; }
  const double* a() const { return a_.As<double>(); }
  const double* b() const { return b_.As<double>(); }  // null before AddB()
  double* c() const { return c_.As<double>(); }

  // What a and b were filled with, taken anew from where it came from.
  void CopyOfA(int64_t first, int64_t count, double* to) const;
  void CopyOfB(int64_t first, int64_t count, double* to) const;

 private:
  explicit StreamArrays(int64_t count);

  const int64_t count_;
  const RepeatingPattern<double> pattern_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

// The part of an array of `count` elements that belongs to one thread.
Part ThreadPart(int64_t count, int index, int thread_count);

// That part's piece `segment` of `segment_count`; pieces with one number make up a segment.
Part SegmentPart(const Part& part, int64_t segment, int64_t segment_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_STREAM_ARRAYS_H_
