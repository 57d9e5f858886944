// Passes over memory: read, write, copy, scale and triad of arrays of doubles, timed.
#ifndef SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_H_
#define SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

using MemoryPassOperation = v1::StreamMeasurement::Operation;

// The arrays of one pass. An operation uses those of its formula (calibration.proto), but its
// output is always in `c`.
struct MemoryPassSpan {
  const double* a = nullptr;
  const double* b = nullptr;
  double* c = nullptr;
  int64_t count = 0;
  double scalar = 0;
  // True where stores bypass the caches, so that no line is read before it is written. `c` must
  // then be a multiple of 16 bytes.
  bool past_caches = false;
};

// One pass. Returns READ's sum; 0 for the others.
using MemoryPassKernel = double (*)(MemoryPassOperation operation, const MemoryPassSpan& span);

// The kernel for a level of this processor.
MemoryPassKernel MemoryPassKernelOf(SimdLevel level);

// Copies of arrays that fit into caches (none in QUICK), then all operations on arrays that exceed
// all caches (QUICK: the copy), of which the copy is measured first and, but in QUICK, again at the
// end. The latter are left out, with a note, where memory is too small.
std::vector<Point> MemoryPassPoints(v1::ProbeMode mode, const SharedContext& context);

// Arrays of doubles that hold whole numbers below 2^22, so that every sum, scaled value and triad
// is exact in any order. c starts as zeros, which no operation produces.
class MemoryPassArrays {
 public:
  // Creates a and c, of `count` elements each. Each thread is the first to write the part
  // (ThreadPart()) that it will process.
  //
  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<MemoryPassArrays>> Create(int64_t count,
                                                                  const HostContext& context);

  // Creates b, unless it exists.
  //
  // Errors: kResourceExhausted.
  absl::Status AddB(const HostContext& context);

  int64_t count() const { return count_; }
  const double* a() const { return a_.As<double>(); }
  const double* b() const { return b_.As<double>(); }  // null before AddB()
  double* c() const { return c_.As<double>(); }

  // Copies of the initial content of a and b, generated again.
  void CopyOfA(int64_t first, int64_t count, double* to) const;
  void CopyOfB(int64_t first, int64_t count, double* to) const;

 private:
  explicit MemoryPassArrays(int64_t count);

  const int64_t count_;
  const RepeatingPattern<double> pattern_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

struct MemoryPassRun {
  MemoryPassOperation operation = v1::StreamMeasurement::OPERATION_UNSPECIFIED;
  MemoryPassKernel kernel = nullptr;
  int64_t segment_count = 1;
  bool past_caches = false;
};

class MemoryPassWorkload : public ArrayWorkload {
 public:
  MemoryPassWorkload(const MemoryPassRun& run, std::shared_ptr<MemoryPassArrays> arrays,
                     SharedContext context);

  void Poison() override;
  // Compares the poisoned segment and the one that was processed last.
  absl::Status Check() override;

 private:
  void PoisonPart(const Part& part) override;
  void RunPart(int index, const Part& part, int64_t times) override;
  int64_t FirstWrong(const Part& part) const override;
  std::string Fault(int64_t element) const override;
  MemoryPassSpan SpanOf(const Part& part) const;
  absl::Status CheckSums() const;

  // One thread's sum, on a cache line of its own.
  struct alignas(64) Sum {
    double value = 0;
  };

  const MemoryPassRun run_;
  const std::shared_ptr<MemoryPassArrays> arrays_;
  std::vector<Sum> sums_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_H_
