// Shared by all workloads of the host: the engines that multiply, memory under a cap, threads; the
// size of arrays that exceed all caches; and passes over arrays.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/thread_team.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

class MemoryBudget;

// Zeroed memory that starts at a page. The system places a page near the core that first writes it,
// so each thread must be the first to write the part that it uses.
class Buffer {
 public:
  int64_t size_bytes() const { return size_bytes_; }

  template <typename Element>
  Element* As() const {
    return static_cast<Element*>(data_.get());
  }

 private:
  friend class MemoryBudget;

  std::unique_ptr<void, std::function<void(void*)>> data_;
  int64_t size_bytes_ = 0;
};

// Must outlive its buffers. Not thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  int64_t cap_bytes() const { return cap_bytes_; }
  int64_t used_bytes() const { return used_bytes_; }

  // Errors: kResourceExhausted, naming the bytes, above the cap or where the system refuses.
  absl::StatusOr<Buffer> Allocate(int64_t size_bytes);

 private:
  const int64_t cap_bytes_;
  int64_t used_bytes_ = 0;
};

// The operands of C = A B, all dense: A[m,k] row after row; B column after column, as a linear
// layer stores its weights ([n,k], row after row); C[m,n] row after row. Element types: FP32: fp32
// in, fp32 out. BF16: bf16 in and out, fp32 sums. INT8: A unsigned, B signed, C 32-bit integers.
struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

// Bytes of one element of A or B, and of C.
constexpr int64_t InputElementBytes(v1::DataType type) {
  return type == v1::DATA_TYPE_INT8 ? 1 : type == v1::DATA_TYPE_BF16 ? 2 : 4;
}
constexpr int64_t OutputElementBytes(v1::DataType type) {
  return type == v1::DATA_TYPE_BF16 ? 2 : 4;
}

// One prepared shape. Run() makes no allocations of its own and returns when C is written.
class PreparedMatmul {
 public:
  virtual ~PreparedMatmul() = default;
  virtual absl::Status Run(const MatmulOperands& operands) = 0;
  // The kernel's name in the calibration.
  virtual const std::string& kernel() const = 0;
};

class MatmulEngine {
 public:
  virtual ~MatmulEngine() = default;

  // "onednn 2.6.3", "builtin".
  virtual const std::string& name() const = 0;

  // The engine must outlive the prepared shape.
  //
  // Errors: kUnimplemented: it has no kernel for the type or the shape.
  virtual absl::StatusOr<std::unique_ptr<PreparedMatmul>> Prepare(const v1::MatmulShape& shape) = 0;
};

struct HostContext {
  CpuFeatures features = {};
  absl::optional<int64_t> cache_bytes = {};  // last level
  std::unique_ptr<ThreadTeam> team = {};
  std::unique_ptr<MemoryBudget> memory = {};
  std::unique_ptr<MatmulEngine> onednn = {};  // null where there is none
  std::unique_ptr<MatmulEngine> builtin = {};
};

// Shared by the workloads, which keep it alive.
using SharedContext = std::shared_ptr<HostContext>;

// Adds `note` unless it is there already.
void AddNote(const std::string& note, v1::Calibration* out);

// Arrays of that size are processed in this many segments, one a run, so that a sample is short and
// no segment is repeated before all others were processed.
inline constexpr int64_t kSegmentCount = 16;

struct ArraysWanted {
  int array_count = 1;
  double cache_multiple = 4;  // size of the arrays, in last-level caches
  int64_t minimum_bytes = 0;  // and at least this, where the cap allows
};

// Bytes of each of `wanted.array_count` arrays that together fit into the memory cap: a multiple of
// a page.
//
// Errors: kResourceExhausted where the cap is too low, or, on a host whose cache is not known, too
// low for 1 GiB each.
absl::StatusOr<int64_t> ArrayBytes(const ArraysWanted& wanted, const HostContext& context);

// A pass over arrays by all threads, each over its part of them. Large arrays are cut into
// segments: a run processes one, and the next run the next one.
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
  // Says how an element is wrong: "is 3, not 4".
  virtual std::string Fault(int64_t element) const = 0;

  const SharedContext context_;  // first, so that it outlives the members of subclasses
  const Shape shape_;
  int64_t next_segment_ = 0;
  int64_t last_segment_ = 0;
  int64_t poisoned_segment_ = 0;
  int64_t runs_since_poison_ = 0;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
