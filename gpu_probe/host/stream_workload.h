// One operation on the streams' arrays, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_STREAM_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_STREAM_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/stream_arrays.h"
#include "gpu_probe/host/stream_kernels.h"
#include "gpu_probe/workload.h"

namespace sextant {

struct StreamRun {
  StreamOperation operation = v1::StreamMeasurement::OPERATION_UNSPECIFIED;
  StreamKernel kernel = nullptr;
  // A run passes over one segment, and the next run over the next.
  int64_t segment_count = 1;
  bool past_caches = false;
};

class StreamWorkload : public Workload {
 public:
  StreamWorkload(const StreamRun& run, std::shared_ptr<StreamArrays> arrays, SharedContext context);

  // Poisons the segment that is passed over next.
  void Poison() override;
  absl::Status Run(int64_t repetition_count) override;
  // Compares the segment that was poisoned and the one that was passed over last.
  absl::Status Check() override;

 private:
  Part PartOfThread(int index, int64_t segment) const;
  StreamSpan SpanOf(const Part& part) const;
  // The thread's first wrong element of c in `part`; -1 where all are right.
  int64_t FirstWrong(const Part& part) const;
  absl::Status CheckOutput(int64_t segment) const;
  absl::Status CheckSums() const;

  // One thread's sum, on a cache line of its own.
  struct alignas(64) Sum {
    double value = 0;
  };

  const SharedContext context_;  // first, so that it outlives the arrays
  const StreamRun run_;
  const std::shared_ptr<StreamArrays> arrays_;
  std::vector<Sum> sums_;
  int64_t next_segment_ = 0;
  int64_t last_segment_ = 0;
  int64_t poisoned_segment_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_STREAM_WORKLOAD_H_
