// One multiplication as a workload: its operands, its runs, and the check that C is A B without
// multiplying again.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/thread_team.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// Bytes that one shape needs, or the maximum over several.
struct MatmulBytes {
  int64_t a = 0;
  int64_t b = 0;  // all copies of B
  int64_t c = 0;
  int64_t total() const { return a + b + c; }
};

// Copies of B that a workload uses in turn: their number, and the bytes from one to the next.
struct Rotation {
  int64_t count = 1;
  int64_t stride_bytes = 0;
};

// Enough copies that `touched_bytes` are touched before the first is used again.
//
// Errors: kResourceExhausted where the bytes of even one exceed int64.
absl::StatusOr<Rotation> RotationOf(const v1::MatmulShape& shape, int64_t touched_bytes);
absl::StatusOr<MatmulBytes> BytesOf(const v1::MatmulShape& shape, const Rotation& rotation);
MatmulBytes MaximumOf(const MatmulBytes& x, const MatmulBytes& y);

// The operands of all multiplications of one type: random inputs, and a place for C.
class MatmulArena {
 public:
  // Fills A's and B's memory: FP32 and BF16 with normal numbers of mean 0 and variance 1, INT8 with
  // all values equally often. The numbers repeat (RepeatingPattern).
  //
  // Errors: kResourceExhausted.
  static absl::StatusOr<std::shared_ptr<MatmulArena>> Create(v1::DataType type,
                                                             const MatmulBytes& bytes,
                                                             const HostContext& context);

  const char* a() const { return inputs_.As<char>(); }
  const char* b() const { return inputs_.As<char>() + b_offset_; }
  char* c() const { return output_.As<char>(); }

 private:
  Buffer inputs_;
  Buffer output_;
  int64_t b_offset_ = 0;
};

// A and C stay in place, as a layer's input and output do; B's copies are used in turn, so that
// small weights come from memory, as a model's do. Workloads of one arena share C: each one's
// result is checked before the next runs.
class MatmulWorkload : public Workload {
 public:
  struct Parts {
    SharedContext context = {};  // first, so that it outlives the rest
    v1::MatmulShape shape = {};
    Rotation rotation = {};
    std::shared_ptr<MatmulArena> arena = {};
    std::unique_ptr<PreparedMatmul> matmul = {};
  };
  explicit MatmulWorkload(Parts parts) : parts_(std::move(parts)) {}

  void Poison() override;
  // Errors: kInternal where the library reported a failure.
  absl::Status Run(int64_t repetition_count) override;
  absl::Status Check() override;

 private:
  MatmulOperands Operands() const;

  const Parts parts_;
  int64_t turn_ = 0;  // the copy of B used last
  uint64_t check_seed_ = 0;
};

// Columns of C that are summed together: few enough that the rounding of a block's elements does
// not hide a wrong one, and enough that the check costs 1/256 of the product.
inline constexpr int64_t kCheckedColumnCount = 256;

// Freivalds' check: for random signs r, compares every row of C r with A (B r), a block of columns
// at a time. In exact arithmetic both are equal; here they may differ by rounding
// (docs/probe.md, "Processors", derives the bound). INT8 must be equal exactly, modulo 2^32 as its
// sums are. `seed` selects the signs. Source: Freivalds, "Probabilistic Machines Can Use Less
// Running Time", IFIP 1977.
//
// Errors: kDataLoss naming the row, the columns and the difference.
absl::Status CheckMatmul(const v1::MatmulShape& shape, const MatmulOperands& operands,
                         uint64_t seed, ThreadTeam* team);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_WORKLOAD_H_
