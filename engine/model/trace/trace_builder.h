// Writes a trace: tensors, passes over memory, products with their gradients, and collectives.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_TRACE_BUILDER_H_
#define SEXTANT_ENGINE_MODEL_TRACE_TRACE_BUILDER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/block/block_place.h"
#include "engine/model/flops/saved_products.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/tensor_shard.h"
#include "engine/model/trace/gradient_flow.h"
#include "engine/model/trace/micro_batch.h"
#include "engine/model/trace/trace.h"

namespace sextant {

// A model whose activations were counted (so no size overflows), and how it is run.
struct TraceContext {
  const ArchitectureSpec& spec;
  const ParallelLayout& layout;
  const MicroBatchSpec& batch;
  // The gradients that are needed where parts are frozen; null: all parts are trained.
  const GradientFlow* flow = nullptr;
  // True: matrices that read the same input are multiplied as one (query, key and value; gate and
  // up). False: one after the other.
  bool fused_projections = true;
  // True: matrices of layers, routers excepted, are multiplied in 8 bits or fewer.
  bool narrow_products = false;
};

// The tensors of one kind of layer, or of one place outside the layers, with a GPU's shard of each.
struct TraceWeights {
  absl::Span<const WeightTensor> tensors = {};
  absl::Span<const TensorShard> shards = {};
  bool frozen = false;  // a frozen layer: only adapters are trained
};

// The tokens that a tensor has on this GPU.
enum class TokenRows {
  kAll,       // divided by context parallelism alone
  kSequence,  // and among tensor parallel ranks, with sequence parallelism
  kSlots,     // routed tokens at the experts of this GPU
};

// Matrices of one module that read one tensor.
struct Projection {
  absl::string_view module;
  absl::string_view op;  // the name of the product of all of them
  absl::Span<const absl::string_view> names = {};
  MatrixSplit split = MatrixSplit::kNone;
  FlopsComponent component = FlopsComponent::kAttentionQueryKeyValue;
  uint8_t input = 0;
  bool input_needs_gradient = true;
  bool narrow = true;  // multiplied in the type of matrix inputs
  // The input is kept as it was computed, and quantised again for the weight gradient.
  bool keeps_computed = false;
  bool adapted = true;               // by the adapters of the matrices
  bool repeated = false;             // by all ranks that share the micro-batch
  TokenRows rows = TokenRows::kAll;  // kSlots: of the experts
  TraceOperands outputs = {};

  // That of names[index]; of one product for all of them the first.
  TraceOperand OutputOf(size_t index) const {
    return *(outputs.begin() + (index < outputs.size() ? index : 0));
  }
};

class TraceBuilder {
 public:
  // Appends to `out`.
  TraceBuilder(const TraceContext& context, const TraceWeights& weights, ModelPart part,
               Trace& out);

  const TraceContext& context() const { return context_; }
  const MicroBatchSpec& batch() const { return context_.batch; }
  int64_t tensor_ranks() const { return context_.layout.tensor_parallel_size; }
  ModelPart part() const { return part_; }
  int64_t length() const { return length_; }
  int64_t rows(TokenRows of) const { return rows_[static_cast<size_t>(of)]; }
  void SetRows(TokenRows of, int64_t rows) { rows_[static_cast<size_t>(of)] = rows; }
  // True where matrices are multiplied in a narrower type than the one that is computed with.
  bool narrows() const;

  // Counts tokens of `part` from here on.
  void GoTo(ModelPart part);
  int64_t element_bytes(TraceElement element) const {
    return element_bytes_[static_cast<size_t>(element)];
  }

  // A new tensor of `width` elements a token on this GPU.
  uint8_t Make(TokenRows of, int64_t width, TraceElement element = TraceElement::kCompute);
  // A new tensor of `elements`.
  uint8_t MakeWhole(int64_t elements, TraceElement element = TraceElement::kCompute);

  double bytes_of(uint8_t tensor) const { return out_.tensors[tensor].bytes(); }
  void KeepElsewhere(uint8_t tensor) { out_.tensors[tensor].kept_elsewhere = true; }

  // The module of the operations from here on.
  void Enter(absl::string_view module) { module_ = module; }

  // A pass that reads and writes its operands once.
  TraceOp& Pass(TracePass pass, absl::string_view name, const TraceOperands& reads,
                const TraceOperands& writes);
  TraceOp& RowPass(TracePass pass, absl::string_view name, const TraceOperands& reads,
                   const TraceOperands& writes);
  // A collective among more than one rank; null among one.
  TraceOp* Collective(TracePass pass, absl::string_view name, const CollectiveWork& work,
                      const TraceOperands& reads = {}, const TraceOperands& writes = {});
  // An operation without operands; the caller fills it in.
  TraceOp& Add(TracePass pass, absl::string_view name);

  // Backward operations are added last to first. Those that `add` adds are in their order.
  template <typename AddOps>
  void AddInOrder(const AddOps& add) {
    const auto first = static_cast<std::ptrdiff_t>(backward_.size());
    add();
    std::reverse(backward_.begin() + first, backward_.end());
  }

  // The products of `projection` with all gradients that they need, their adapters, quantisation,
  // and the collectives of tensor parallelism around them:
  //   kRows     gathers the input's tokens before, sums its gradient after
  //   kColumns  sums the output after, gathers its gradient before
  // With sequence parallelism sums are reduce-scatters, else all-reduces and nothing is gathered.
  // Source: Korthikanti et al. 2022 (arXiv 2205.05198) sections 4.1 and 4.2.2.
  void AddProjection(const Projection& projection);

  // The products of `projection` once more, during the backward pass.
  void RepeatProjection(const Projection& projection);

  // A norm of `input`; `needed`: its output needs a gradient.
  struct Norm {
    absl::string_view name;
    uint8_t input = 0;
    uint8_t output = 0;
    bool needed = true;
    bool again = false;  // recomputed in the backward pass
  };
  void AddNorm(const Norm& norm);

  // Forward operations that `saved` and recomputation by operator save are not repeated.
  void Save(const SavedProducts& saved) { saved_ = saved; }

  // Ends a layer: appends the backward operations in their order. With `recompute`, the forward
  // operations are repeated before them.
  void Finish(bool recompute);

 private:
  // A matrix of a projection, with its shard.
  struct Matrix {
    const WeightTensor* tensor = nullptr;
    const TensorShard* shard = nullptr;
    bool trained = false;
  };
  // A tensor that several products read is quantised once.
  struct NarrowCopy {
    uint8_t of = 0;
    uint8_t copy = 0;
  };
  // Sizes of a product of tokens with matrices side by side.
  struct Product {
    int64_t n = 0;
    int64_t k = 0;
    double model_share = 1;  // of its FLOPs that no other rank repeats
    bool trained = false;
    bool routes = false;
    bool saved = false;  // in place of computing it again
    int64_t experts = 1;
    TraceOperands outputs = {};  // empty: all of the projection's
  };

  Matrix Find(absl::string_view module, absl::string_view name, WeightRole role) const;
  Product ProductOf(const Matrix& matrix, MatrixSplit split) const;
  using Products = absl::InlinedVector<Product, 2>;
  Products ProductsOf(const Projection& projection) const;
  void AddProduct(const Projection& projection, const Product& product, uint8_t multiplied);
  void AddProductOp(TracePass pass, const Projection& projection, const Product& product,
                    uint8_t multiplied);
  // The output of an adapter's first matrix, and what its second ones multiply: that of all tokens
  // where these are divided. `last`: of the second matrices, during the forward pass.
  struct AdapterInner {
    uint8_t computed = 0;
    uint8_t multiplied = 0;
    bool last = true;
  };
  // The adapters of all matrices of `projection`.
  void AddAdapters(const Projection& projection);
  AdapterInner AddAdapterDown(const Projection& projection, const Matrix& down);
  // That of the matrix projection.names[index].
  void AddAdapterUp(const Projection& projection, size_t index, const AdapterInner& inner);
  void Quantise(TracePass pass, uint8_t input, uint8_t copy);
  void Gather(TracePass pass, uint8_t part, uint8_t gathered);
  uint8_t QuantisedInput(const Projection& projection);
  uint8_t GatheredInput(uint8_t input);
  void SumInputGradient(const Projection& projection);
  void SumOutput(const Projection& projection);
  // Tokens that tensor parallel ranks have together over those of one rank.
  double gathered_scale() const {
    return static_cast<double>(SequenceRanks(batch(), context_.layout));
  }
  CollectiveWork TensorSum(double bytes) const;

  const TraceContext& context_;
  const TraceWeights& weights_;
  ModelPart part_;
  int64_t length_ = 0;
  std::array<int64_t, 3> rows_ = {};
  std::array<int64_t, kTraceElementCount> element_bytes_;
  absl::InlinedVector<NarrowCopy, 8> narrow_copies_;
  bool keeps_narrow_ = false;  // the narrow copies stay for weight gradients
  absl::optional<SavedProducts> saved_ = {};
  absl::string_view module_;
  Trace& out_;
  const size_t first_op_;
  std::vector<TraceOp>& backward_;  // in reverse order
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_TRACE_BUILDER_H_
