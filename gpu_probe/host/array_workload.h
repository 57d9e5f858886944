// A pass over arrays by all threads, each over its part of them, as a workload. Large arrays are
// cut into segments: a run processes one, and the next run the next one.
#ifndef SEXTANT_GPU_PROBE_HOST_ARRAY_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_ARRAY_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

class ArrayWorkload : public Workload {
 public:
  // Poisons the segment that is processed next.
  void Poison() override;
  absl::Status Run(int64_t repetition_count) override;
  // Compares that segment.
  absl::Status Check() override { return CheckSegment(poisoned_segment_); }

 protected:
  struct Shape {
    int64_t element_count = 0;
    int64_t segment_count = 1;
    int64_t block = kThreadPartBlock;  // a thread's part is whole blocks of elements
  };
  ArrayWorkload(SharedContext context, const Shape& shape)
      : context_(std::move(context)), shape_(shape) {}

  HostContext& context() const { return *context_; }
  int64_t segment_count() const { return shape_.segment_count; }
  int64_t runs_since_poison() const { return runs_since_poison_; }
  int64_t poisoned_segment() const { return poisoned_segment_; }
  int64_t last_segment() const { return last_segment_; }  // that was processed

  Part PartOfThread(int index, int64_t segment) const;
  // Errors: kDataLoss: "element 7 " and Fault().
  absl::Status CheckSegment(int64_t segment) const;

 private:
  virtual void PoisonPart(const Part& part) = 0;
  // Processes the part `times` times.
  virtual void RunPart(int index, const Part& part, int64_t times) = 0;
  // The first wrong element; -1 where all are right.
  virtual int64_t FirstWrong(const Part& part) const = 0;
  // What is wrong with an element: "is 3, not 4".
  virtual std::string Fault(int64_t element) const = 0;

  const SharedContext context_;  // first, so that it outlives the members of subclasses
  const Shape shape_;
  int64_t next_segment_ = 0;
  int64_t last_segment_ = 0;
  int64_t poisoned_segment_ = 0;
  int64_t runs_since_poison_ = 0;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ARRAY_WORKLOAD_H_
