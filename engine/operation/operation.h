// The operations that are accounted for, each described only by its sizes.
#ifndef SEXTANT_ENGINE_OPERATION_OPERATION_H_
#define SEXTANT_ENGINE_OPERATION_OPERATION_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/einsum_pattern.h"
#include "engine/tensor/matmul_scaling.h"
#include "engine/tensor/shape.h"

namespace sextant {

// The most FLOPs per element that a caller may declare.
inline constexpr double kMaxFlopsPerElement = 1e6;

// c [m, n] = a [m, k] b [k, n]
struct Matmul {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// `batch` such products, each with its own a and b.
struct BatchedMatmul {
  int64_t batch = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// y [rows, output_size] = x [rows, input_size] w [input_size, output_size] + b
struct Linear {
  int64_t rows = 0;  // tokens
  int64_t input_size = 0;
  int64_t output_size = 0;
  bool bias = false;
};

enum class ElementwiseFunction {
  kGeneral,   // given by its inputs and FLOPs per element
  kAdd,       // the sum of its inputs
  kMultiply,  // the product of two
  kSquare,
  kScale,  // times a constant
  kExp,
};

// One function of `input_count` arrays of `count` elements each, element by element.
struct Elementwise {
  int64_t count = 0;
  int64_t input_count = 1;
  ElementwiseFunction function = ElementwiseFunction::kGeneral;
  double flops_per_element = 1;  // kGeneral only
};

// y [outer] from x [outer, reduced]
struct Reduction {
  int64_t outer = 0;
  int64_t reduced = 0;
  ReductionKind function = ReductionKind::kSum;
};

// Over each of `rows` rows of `columns` numbers.
struct Softmax {
  int64_t rows = 0;
  int64_t columns = 0;
};

// With weight and bias, each [columns].
struct LayerNorm {
  int64_t rows = 0;
  int64_t columns = 0;
};

// With weight [columns].
struct RmsNorm {
  int64_t rows = 0;
  int64_t columns = 0;
};

enum class ActivationFunction { kRelu, kSilu, kGeluTanh, kGeluErf };

struct Activation {
  ActivationFunction function = ActivationFunction::kRelu;
  int64_t count = 0;
};

// y = silu(gate) x up, all [rows, columns].
struct SwiGlu {
  int64_t rows = 0;
  int64_t columns = 0;
};

// Rotates each pair of numbers of x [tokens, heads, head_size] by its position's angle; sines and
// cosines come from tables that all heads share.
struct Rotary {
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_size = 0;  // even
};

struct Dropout {
  int64_t count = 0;
};

// y [tokens, width]: the rows of table [vocabulary, width] selected by the ids.
struct EmbeddingLookup {
  int64_t tokens = 0;
  int64_t vocabulary = 0;
  int64_t width = 0;
};

// The mean over tokens of -log softmax(logits [tokens, vocabulary])[target].
struct CrossEntropy {
  int64_t tokens = 0;
  int64_t vocabulary = 0;
};

// How a causal mask counts attended positions; see AttendedPairs().
enum class CausalConvention { kWithDiagonal, kWithoutDiagonal, kPublished };

// softmax(q k^T / sqrt(head_size)) v for q [batch, heads, query_length, head_size],
// k [batch, kv_heads, key_length, head_size] and v [batch, kv_heads, key_length,
// value_head_size]. Where causal, the queries are the last of the positions.
struct Attention {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t query_length = 0;
  int64_t key_length = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;  // less than head_size in latent attention; 0: head_size
  bool causal = false;
  CausalConvention convention = CausalConvention::kWithDiagonal;  // where causal
  int64_t window = 0;  // the most positions that a query attends to; 0: unlimited
  bool fused = true;   // one kernel; the matrix of scores never moves
};

constexpr int64_t ValueHeadSize(const Attention& attention) {
  return attention.value_head_size == 0 ? attention.head_size : attention.value_head_size;
}

// The matrix products of an expert layer on one of the `expert_parallel_size` devices that share
// it, with balanced load. For its rows x [rows, hidden_size],
//   gated      y = (silu(gate) up) w_down, where gate and up are x times a matrix each
//   otherwise  y = gelu(x w_up) w_down
struct Experts {
  int64_t tokens = 0;  // of the whole group
  int64_t hidden_size = 0;
  int64_t feed_forward_size = 0;  // of one expert
  int64_t expert_count = 0;       // of the layer
  int64_t experts_per_token = 0;
  int64_t expert_parallel_size = 1;  // divides expert_count
  bool gated = true;
};

inline constexpr int64_t kMaxExperts = 65536;

// Rows that a device's experts multiply, on the fullest device where they can't be spread evenly.
// `experts` has passed CheckOperation().
int64_t DeviceRows(const Experts& experts);
enum class UpdateRule { kSgd, kSgdMomentum, kAdagrad, kRmsprop, kAdam, kAdamw, kLion };

// One optimizer step of `parameters` numbers. The input type is the gradient's, the output type
// the weight's, the accumulation type the state's and the master weight's.
struct OptimizerUpdate {
  int64_t parameters = 0;
  UpdateRule rule = UpdateRule::kAdamw;
  bool master_weights = false;
};

// A copy between host and device, in either direction.
struct HostCopy {
  int64_t bytes = 0;
  bool pinned = true;  // false: staged through pinned memory
  BytesPerSecond link = {};
  BytesPerSecond staging = {};  // where not pinned
  // Where not pinned: the rate of both together, as measured, in place of either's.
  absl::optional<BytesPerSecond> staged = {};
};

// One function of the running array and of `extra_input_count` further arrays.
struct ChainStep {
  ElementwiseFunction function = ElementwiseFunction::kGeneral;
  int64_t extra_input_count = 0;
  double flops_per_element = 1;  // kGeneral only
};

// Elementwise steps in one kernel, each applied to the previous result.
struct FusedChain {
  int64_t count = 0;
  std::vector<ChainStep> steps;
};

// The product of all operands, summed over the axes that the result lacks: "b s h, b t h -> b s
// t", or "bsh,bth->bst". More than two operands are contracted in pairs.
struct Einsum {
  std::string expression = {};
  std::vector<Shape> operands = {};
  EinsumStyle style = EinsumStyle::kDetect;
  // True: contract operands from left to right. False: in the order of fewest FLOPs that the
  // search finds. Gradients go back through the same order.
  bool left_to_right = false;
};

using Operation =
    std::variant<Matmul, BatchedMatmul, Linear, Elementwise, Reduction, Softmax, LayerNorm, RmsNorm,
                 Activation, SwiGlu, Rotary, Dropout, EmbeddingLookup, CrossEntropy, Attention,
                 OptimizerUpdate, HostCopy, FusedChain, Einsum, Experts>;

// "matmul", "layer_norm".
absl::string_view OperationName(const Operation& operation);

// Number formats of an operation's inputs (weights included), outputs, and accumulation. An
// array's gradient has the array's own format.
struct OperationTypes {
  DataType input = DataType::kUnspecified;         // required
  DataType output = DataType::kUnspecified;        // kUnspecified: the input's
  DataType accumulation = DataType::kUnspecified;  // kUnspecified: fp32, or fp64 for fp64
  absl::optional<MatmulScaling> scaling = {};      // of fp8 products alone; absent: the usual
};

OperationTypes WithDefaults(OperationTypes types);

// Appends the errors of `operation`, under paths that start with `path`: sizes below 1 or above
// kMaxDimension, options that contradict each other, an expression that its operands don't fit.
// Products of sizes are checked where they are computed.
void CheckOperation(const Operation& operation, absl::string_view path,
                    FieldViolations& violations);

// Appends the errors of `types`: "input" below `path` where it is missing, "scaling" where the
// input is not fp8.
void CheckTypes(const OperationTypes& types, absl::string_view path, FieldViolations& violations);

// Pairs that one head of one sequence computes, with q queries, k keys, window w (k where there is
// none).
//
//   not causal      q min(w, k): each query attends to this many keys, wherever they are
//   kWithDiagonal   sum of min(p, w) over the positions p = k - q + 1 .. k: a query attends to
//                   itself and earlier positions, w in all. Exact for today's masks.
//   kWithoutDiagonal  sum of min(p - 1, w): only earlier positions
//   kPublished      the mean of both, which for q = k = s is s w - w^2/2: half the square
//                   where w = s, as model FLOPs are commonly stated
//
// Divided by q, these are the mean attended lengths w - w (w - 1)/(2 s), and w - w^2/(2 s).
// Source: sums of arithmetic series, docs/operation_costs.md, "Pairs under a mask"; the published
// convention is that of Megatron-LM's and OLMo-core's FLOP counters.
double AttendedPairs(const Attention& attention);

// Keys of one sequence that any query attends to: at most the last q + w - 1.
int64_t AttendedKeys(const Attention& attention);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_OPERATION_H_
