#include "engine/operation/operation.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/operation/einsum_plan.h"

namespace sextant {
namespace {

// Copies of more than 1.1e18 bytes are errors of the caller.
constexpr int64_t kMaxCopyBytes = int64_t{1} << 60;
constexpr double kMinBytesPerSecond = 1;  // so that every quotient is finite
constexpr double kMaxBytesPerSecond = 1e18;

// One overload per operation; its fields are at `path`.
class Check {
 public:
  Check(absl::string_view path, FieldViolations& violations)
      : path_(path), violations_(violations) {}

  void operator()(const Matmul& op) const { Sizes({{"m", op.m}, {"n", op.n}, {"k", op.k}}); }
  void operator()(const BatchedMatmul& op) const {
    Sizes({{"batch", op.batch}, {"m", op.m}, {"n", op.n}, {"k", op.k}});
  }
  void operator()(const Linear& op) const {
    Sizes({{"rows", op.rows}, {"input_size", op.input_size}, {"output_size", op.output_size}});
  }
  void operator()(const Elementwise& op) const {
    Size("count", op.count);
    violations_.RequireRange(path_, "input_count", op.input_count, 1, kMaxOperands);
    Function(op.function, op.input_count, op.flops_per_element, "");
  }
  void operator()(const Reduction& op) const {
    Sizes({{"outer", op.outer}, {"reduced", op.reduced}});
  }
  void operator()(const Softmax& op) const { Matrix(op.rows, op.columns); }
  void operator()(const LayerNorm& op) const { Matrix(op.rows, op.columns); }
  void operator()(const RmsNorm& op) const { Matrix(op.rows, op.columns); }
  void operator()(const SwiGlu& op) const { Matrix(op.rows, op.columns); }
  void operator()(const Activation& op) const { Size("count", op.count); }
  void operator()(const Dropout& op) const { Size("count", op.count); }
  void operator()(const Rotary& op) const {
    Sizes({{"tokens", op.tokens}, {"heads", op.heads}, {"head_size", op.head_size}});
    if (op.head_size % 2 != 0) {
      Add("head_size", absl::StrCat("must be even, since pairs are turned, not ", op.head_size));
    }
  }
  void operator()(const EmbeddingLookup& op) const {
    Sizes({{"tokens", op.tokens}, {"vocabulary", op.vocabulary}, {"width", op.width}});
  }
  void operator()(const CrossEntropy& op) const {
    Sizes({{"tokens", op.tokens}, {"vocabulary", op.vocabulary}});
  }
  void operator()(const Attention& op) const;
  void operator()(const OptimizerUpdate& op) const { Size("parameters", op.parameters); }
  void operator()(const HostCopy& op) const {
    violations_.Require(path_, "bytes", op.bytes, 1, kMaxCopyBytes);
    if (!op.pinned && op.staged.has_value()) return Rate("link_bytes_per_second", *op.staged);
    Rate("link_bytes_per_second", op.link);
    if (!op.pinned) Rate("staging_bytes_per_second", op.staging);
  }
  void operator()(const FusedChain& op) const;
  void operator()(const Experts& op) const;
  void operator()(const Einsum& op) const {
    const absl::Status status = PlanEinsum(op).status();
    for (const FieldViolation& v : FieldViolationsOf(status)) Add(v.field, v.description);
  }

 private:
  void Add(absl::string_view name, absl::string_view description) const {
    violations_.Add(FieldPath(path_, name), description);
  }
  void Size(absl::string_view name, int64_t value) const {
    if (value < 1) Add(name, absl::StrCat("must be at least 1, not ", value));
    if (value > kMaxDimension) {
      Add(name, absl::StrCat("must be at most ", kMaxDimension, " (2^40), not ", value));
    }
  }
  void Sizes(std::initializer_list<std::pair<absl::string_view, int64_t>> sizes) const {
    for (const auto& [name, value] : sizes) Size(name, value);
  }
  void Matrix(int64_t rows, int64_t columns) const {
    Sizes({{"rows", rows}, {"columns", columns}});
  }
  void Rate(absl::string_view name, BytesPerSecond rate) const {
    violations_.RequireRange(
        path_, name, rate.value(),
        FieldViolations::RealRange{.low = kMinBytesPerSecond, .high = kMaxBytesPerSecond});
  }
  void Function(ElementwiseFunction function, int64_t inputs, double flops,
                absl::string_view below) const;

  absl::string_view path_;
  FieldViolations& violations_;
};

void Check::Function(ElementwiseFunction function, int64_t inputs, double flops,
                     absl::string_view below) const {
  switch (function) {
    case ElementwiseFunction::kGeneral:
      violations_.RequireRange(FieldPath(path_, below), "flops_per_element", flops,
                               FieldViolations::RealRange{.low = 0, .high = kMaxFlopsPerElement});
      return;
    case ElementwiseFunction::kAdd:
      return;
    case ElementwiseFunction::kMultiply:
      if (inputs != 2) {
        Add(FieldPath(below, "function"),
            absl::StrCat("multiplies two arrays, not ", inputs, ": chain the others"));
      }
      return;
    case ElementwiseFunction::kSquare:
    case ElementwiseFunction::kScale:
    case ElementwiseFunction::kExp:
      if (inputs != 1) {
        Add(FieldPath(below, "function"), absl::StrCat("takes one array, not ", inputs));
      }
      return;
  }
}

void Check::operator()(const Attention& op) const {
  Sizes({{"batch", op.batch},
         {"heads", op.heads},
         {"kv_heads", op.kv_heads},
         {"query_length", op.query_length},
         {"key_length", op.key_length},
         {"head_size", op.head_size}});
  if (op.value_head_size != 0) Size("value_head_size", op.value_head_size);
  if (op.kv_heads > 0 && op.heads % op.kv_heads != 0) {
    Add("kv_heads",
        absl::StrCat("must divide heads (", op.heads, "), which ", op.kv_heads, " does not"));
  }
  if (op.window < 0) Add("window", absl::StrCat("must be at least 0 (no window), not ", op.window));
  if (op.causal && op.key_length < op.query_length) {
    Add("key_length", absl::StrCat("must be at least query_length (", op.query_length,
                                   ") where causal, since the queries are the last positions, not ",
                                   op.key_length));
  }
}

void Check::operator()(const Experts& op) const {
  Sizes({{"tokens", op.tokens},
         {"hidden_size", op.hidden_size},
         {"feed_forward_size", op.feed_forward_size}});
  violations_.Require(path_, "expert_count", op.expert_count, 1, kMaxExperts);
  const bool counted = op.expert_count >= 1 && op.expert_count <= kMaxExperts;
  violations_.Require(path_, "experts_per_token", op.experts_per_token, 1,
                      counted ? op.expert_count : kMaxExperts);
  if (op.expert_parallel_size < 1 || (counted && op.expert_count % op.expert_parallel_size != 0)) {
    Add("expert_parallel_size",
        absl::StrCat("must be at least 1 and divide expert_count (", op.expert_count, "), which ",
                     op.expert_parallel_size, " does not"));
  }
}

void Check::operator()(const FusedChain& op) const {
  Size("count", op.count);
  const auto steps = static_cast<int64_t>(op.steps.size());
  violations_.Require(path_, "steps", steps, 1, kMaxOperands);
  if (steps > kMaxOperands) return;
  int64_t inputs = 1;
  for (size_t i = 0; i < op.steps.size(); ++i) {
    const ChainStep& step = op.steps[i];
    const std::string below = absl::StrCat("steps[", i, "]");
    violations_.RequireRange(FieldPath(path_, below), "extra_input_count", step.extra_input_count,
                             0, kMaxOperands - 1);
    if (step.extra_input_count < 0 || step.extra_input_count >= kMaxOperands) return;
    Function(step.function, 1 + step.extra_input_count, step.flops_per_element, below);
    inputs += step.extra_input_count;
  }
  if (inputs > kMaxOperands) {
    Add("steps", absl::StrCat("read ", inputs, " arrays, more than ", kMaxOperands));
  }
}

// In the order of the variant.
constexpr std::array<absl::string_view, std::variant_size_v<Operation>> kNames = {
    "matmul",           "batched_matmul", "linear",      "elementwise",   "reduction",
    "softmax",          "layer_norm",     "rms_norm",    "activation",    "swiglu",
    "rotary",           "dropout",        "embedding",   "cross_entropy", "attention",
    "optimizer_update", "host_copy",      "fused_chain", "einsum",        "experts"};

// Sum of min(p, w) over the integers p = low .. high, 0 <= low <= high + 1: a ramp up to w, then
// flat. Only products of counts, no difference of large numbers.
double SumOfMinima(int64_t low, int64_t high, int64_t w) {
  const int64_t ramp_end = std::min(high, w);
  const int64_t ramp = std::max<int64_t>(ramp_end - low + 1, 0);
  const int64_t flat = high - low + 1 - ramp;
  const double ramp_sum = static_cast<double>(ramp) * static_cast<double>(low + ramp_end) / 2;
  return ramp_sum + static_cast<double>(flat) * static_cast<double>(w);
}

int64_t WindowOf(const Attention& a) {
  return a.window == 0 ? a.key_length : std::min(a.window, a.key_length);
}

}  // namespace

void CheckOperation(const Operation& operation, absl::string_view path,
                    FieldViolations& violations) {
  std::visit(Check(path, violations), operation);
}

absl::string_view OperationName(const Operation& operation) { return kNames[operation.index()]; }

OperationTypes WithDefaults(OperationTypes types) {
  if (types.output == DataType::kUnspecified) types.output = types.input;
  if (types.accumulation == DataType::kUnspecified) {
    types.accumulation = types.input == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
  }
  return types;
}

void CheckTypes(const OperationTypes& types, absl::string_view path, FieldViolations& violations) {
  if (types.input == DataType::kUnspecified) {
    violations.Add(FieldPath(path, "input"), "is required: write e.g. bf16");
    return;
  }
  if (types.scaling.has_value() && !IsFp8(types.input)) {
    violations.Add(
        FieldPath(path, "scaling"),
        absl::StrCat("is of inputs in fp8, not in ", DataTypeName(types.input), ": leave it out"));
  }
}

double AttendedPairs(const Attention& a) {
  const int64_t w = WindowOf(a);
  if (!a.causal) return static_cast<double>(a.query_length) * static_cast<double>(w);
  const int64_t first = a.key_length - a.query_length + 1;
  const double with = SumOfMinima(first, a.key_length, w);
  const double without = SumOfMinima(first - 1, a.key_length - 1, w);
  switch (a.convention) {
    case CausalConvention::kWithDiagonal:
      return with;
    case CausalConvention::kWithoutDiagonal:
      return without;
    case CausalConvention::kPublished:
      break;
  }
  return (with + without) / 2;
}

int64_t AttendedKeys(const Attention& a) {
  if (a.window == 0 || !a.causal) return a.key_length;
  return std::min(a.key_length, a.query_length + std::min(a.window, kMaxDimension) - 1);
}

}  // namespace sextant
