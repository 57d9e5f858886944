// The operands of all multiplications of one type: random inputs, and a place for C.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_ARENA_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_ARENA_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_probe/host/host_context.h"

namespace sextant {

// What a shape needs, or the most that several need.
struct MatmulBytes {
  int64_t a = 0;
  int64_t b = 0;  // all copies of B
  int64_t c = 0;
  int64_t total() const { return a + b + c; }
};

// Copies of B that a workload takes in turn: their number and the bytes from one to the next.
struct Rotation {
  int64_t count = 1;
  int64_t stride_bytes = 0;
};

// As many that `touched_bytes` are touched before the first comes again.
//
// Errors: kResourceExhausted where even one is more than int64 holds.
absl::StatusOr<Rotation> RotationOf(const v1::MatmulShape& shape, int64_t touched_bytes);
absl::StatusOr<MatmulBytes> BytesOf(const v1::MatmulShape& shape, const Rotation& rotation);
MatmulBytes MaximumOf(const MatmulBytes& x, const MatmulBytes& y);

class MatmulArena {
 public:
  // Fills A's and B's memory: FP32 and BF16 with normal numbers of mean 0 and variance 1, INT8
  // with every value as often as another. They repeat (repeating_pattern.h).
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

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_ARENA_H_
