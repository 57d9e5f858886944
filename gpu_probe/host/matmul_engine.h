// Engines that multiply matrices: oneDNN, or the probe's own kernels.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_ENGINE_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_ENGINE_H_
