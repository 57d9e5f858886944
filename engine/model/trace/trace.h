// The operations of one micro-batch on one GPU, forward and backward, with the tensors that they
// read and write. Step times are computed from this list.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_TRACE_H_
#define SEXTANT_ENGINE_MODEL_TRACE_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/flops/step_flops.h"

namespace sextant {

enum class TracePass {
  kForward,
  kRecompute,  // of the forward pass, during the backward pass
  kInputGradient,
  kWeightGradient,
};

// `batch` products [m, k] by [k, n], each with its own operands.
struct MatmulWork {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  friend bool operator==(const MatmulWork&, const MatmulWork&) = default;
};

// Products [rows, k] by [k, n] of `experts` experts, each with its own matrix.
struct GroupedMatmulWork {
  int64_t experts = 1;
  double rows_per_expert = 0;
  int64_t n = 0;
  int64_t k = 0;

  friend bool operator==(const GroupedMatmulWork&, const GroupedMatmulWork&) = default;
};

// Attention in one kernel, or in `TraceOp::launches` kernels of equal size.
struct AttentionWork {
  int64_t batch = 1;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t key_value_heads = 0;
  int64_t query_key_head_size = 0;
  int64_t value_head_size = 0;
  bool causal = false;  // queries are the last of the keys
  int64_t window = 0;   // 0: none

  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// One pass over memory.
struct PassWork {
  double read_bytes = 0;
  double written_bytes = 0;
  bool sums_rows = false;  // also sums over rows, or looks them up

  friend bool operator==(const PassWork&, const PassWork&) = default;
};

enum class CollectiveKind { kAllGather, kReduceScatter, kAllReduce, kAllToAll, kRing };
enum class TraceGroup { kTensor, kContext, kExpert, kExpertTensor };

// `bytes`: all-gather and reduce-scatter: of the whole tensor; all-reduce and all-to-all: of a
// rank's tensor; ring: sent in one step, of size - 1.
struct CollectiveWork {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  TraceGroup group = TraceGroup::kTensor;
  double bytes = 0;

  friend bool operator==(const CollectiveWork&, const CollectiveWork&) = default;
};

using TraceWork =
    std::variant<PassWork, MatmulWork, GroupedMatmulWork, AttentionWork, CollectiveWork>;

// A tensor of the trace, or its gradient.
struct TraceOperand {
  uint8_t tensor = 0;
  bool gradient = false;
};

// At most kMax operands.
class TraceOperands {
 public:
  static constexpr size_t kMax = 7;
  TraceOperands() = default;
  TraceOperands(std::initializer_list<TraceOperand> operands) {
    for (const TraceOperand& operand : operands) Add(operand);
  }
  void Add(TraceOperand operand) { operands_[size_++] = operand; }
  const TraceOperand* begin() const { return operands_.data(); }
  const TraceOperand* end() const { return operands_.data() + size_; }
  size_t size() const { return size_; }

 private:
  std::array<TraceOperand, kMax> operands_ = {};
  uint8_t size_ = 0;
};

// One operation. Views point to literals.
struct TraceOp {
  absl::string_view module;  // "attention"
  absl::string_view name;    // "query_key_value"
  TracePass pass = TracePass::kForward;
  TraceWork work = {};
  bool narrow = false;  // a product of operands in the type of matrix inputs, already quantised
  bool saved = false;   // not repeated where the forward pass is
  int64_t launches = 1;
  double flops = 0;              // of matrix products, on this GPU
  double model_flops = 0;        // those that no other rank repeats, and no mask hides
  double gradient_elements = 0;  // of parameters, that it computes
  double frozen_elements = 0;    // of layers' matrices that nothing trains, that it multiplies by
  FlopsComponent component = FlopsComponent::kAttentionQueryKeyValue;  // where flops > 0
  TraceOperands reads = {};
  TraceOperands writes = {};
};

// The type of a tensor's elements.
enum class TraceElement {
  kCompute,
  kMatmulInput,  // of matrix inputs: as kCompute, or narrower
  kFp32,
  kMask,   // one byte
  kIndex,  // eight bytes
};
inline constexpr size_t kTraceElementCount = 5;

struct TraceTensor {
  int64_t elements = 0;
  int64_t element_bytes = 0;
  bool kept_elsewhere = false;  // another layer's tensor, kept once for all

  double bytes() const {
    return static_cast<double>(elements) * static_cast<double>(element_bytes);
  }
};

struct Trace {
  std::vector<TraceTensor> tensors;
  std::vector<TraceOp> ops;
  std::vector<TraceOp> backward;  // while a trace is built: what follows `ops`, in reverse order

  // Keeps the memory.
  void Clear() {
    tensors.clear();
    ops.clear();
    backward.clear();
  }
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_TRACE_H_
