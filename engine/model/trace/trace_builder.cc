#include "engine/model/trace/trace_builder.h"

#include <utility>

namespace sextant {
namespace {

constexpr int64_t kNarrowBytes = 1;
constexpr int64_t kFp32Bytes = 4;
constexpr int64_t kIndexBytes = 8;
constexpr double kFlopsPerMultiplyAdd = 2;

// TF32 is a mode of the matrix units over fp32 data.
int64_t BytesOf(DataType type) { return type == DataType::kTf32 ? kFp32Bytes : StorageBytes(type); }

TraceOperands GradientsOf(const TraceOperands& tensors) {
  TraceOperands out;
  for (const TraceOperand& tensor : tensors) out.Add({tensor.tensor, true});
  return out;
}

int64_t LengthOf(const TraceContext& context, ModelPart part) {
  const bool encoder = part == ModelPart::kEncoder && !context.spec.decoder.layers.empty();
  return encoder ? context.batch.encoder_sequence_length : context.batch.sequence_length;
}

// Under recomputation by operator: as the ledger keeps it. A ring is a part of attention.
bool IsSaved(const TraceOp& op) {
  if (op.saved || std::holds_alternative<AttentionWork>(op.work)) return true;
  const auto* const collective = std::get_if<CollectiveWork>(&op.work);
  if (collective == nullptr) return false;
  switch (collective->kind) {
    case CollectiveKind::kReduceScatter:
      return collective->group == TraceGroup::kTensor;
    case CollectiveKind::kAllToAll:
      return collective->group == TraceGroup::kExpert;
    default:
      return collective->kind == CollectiveKind::kRing;
  }
}

}  // namespace

TraceBuilder::TraceBuilder(const TraceContext& context, const TraceWeights& weights, ModelPart part,
                           Trace& out)
    : context_(context),
      weights_(weights),
      out_(out),
      first_op_(out.ops.size()),
      backward_(out.backward) {
  GoTo(part);
  const int64_t compute = BytesOf(batch().compute_data_type);
  const bool given = batch().matmul_input_data_type != DataType::kUnspecified;
  const int64_t kept = given ? BytesOf(batch().matmul_input_data_type) : compute;
  const int64_t input = context.narrow_products ? kNarrowBytes : kept;
  keeps_narrow_ = kept < compute;
  element_bytes_ = {compute, input, kFp32Bytes, 1, kIndexBytes};
}

void TraceBuilder::GoTo(ModelPart part) {
  part_ = part;
  length_ = LengthOf(context_, part);
  const int64_t all = batch().sequence_count * length_ / batch().context_parallel_size;
  rows_[static_cast<size_t>(TokenRows::kAll)] = all;
  rows_[static_cast<size_t>(TokenRows::kSequence)] = all / SequenceRanks(batch(), context_.layout);
}

bool TraceBuilder::narrows() const {
  return element_bytes_[static_cast<size_t>(TraceElement::kMatmulInput)] <
         element_bytes_[static_cast<size_t>(TraceElement::kCompute)];
}

uint8_t TraceBuilder::Make(TokenRows of, int64_t width, TraceElement element) {
  return MakeWhole(rows(of) * width, element);
}

uint8_t TraceBuilder::MakeWhole(int64_t elements, TraceElement element) {
  out_.tensors.push_back({elements, element_bytes_[static_cast<size_t>(element)]});
  return static_cast<uint8_t>(out_.tensors.size() - 1);
}

TraceOp& TraceBuilder::Add(TracePass pass, absl::string_view name) {
  TraceOp& op = (pass == TracePass::kForward ? out_.ops : backward_).emplace_back();
  op.module = module_;
  op.name = name;
  op.pass = pass;
  return op;
}

TraceOp& TraceBuilder::Pass(TracePass pass, absl::string_view name, const TraceOperands& reads,
                            const TraceOperands& writes) {
  const auto bytes_of = [this](const TraceOperand& operand) {
    const TraceTensor& tensor = out_.tensors[operand.tensor];
    const auto compute = static_cast<double>(element_bytes_[0]);
    return operand.gradient ? static_cast<double>(tensor.elements) * compute : tensor.bytes();
  };
  PassWork work;
  for (const TraceOperand& operand : reads) work.read_bytes += bytes_of(operand);
  for (const TraceOperand& operand : writes) work.written_bytes += bytes_of(operand);
  TraceOp& op = Add(pass, name);
  op.work = work;
  op.reads = reads;
  op.writes = writes;
  return op;
}

TraceOp& TraceBuilder::RowPass(TracePass pass, absl::string_view name, const TraceOperands& reads,
                               const TraceOperands& writes) {
  TraceOp& op = Pass(pass, name, reads, writes);
  std::get<PassWork>(op.work).sums_rows = true;
  return op;
}

TraceOp* TraceBuilder::Collective(TracePass pass, absl::string_view name,
                                  const CollectiveWork& work, const TraceOperands& reads,
                                  const TraceOperands& writes) {
  const ParallelLayout& layout = context_.layout;
  const int64_t sizes[] = {tensor_ranks(), batch().context_parallel_size,
                           layout.expert_parallel_size, ExpertTensorParallelSize(layout)};
  if (sizes[static_cast<size_t>(work.group)] == 1) return nullptr;
  TraceOp& op = Add(pass, name);
  op.work = work;
  op.reads = reads;
  op.writes = writes;
  return &op;
}

void TraceBuilder::AddNorm(const Norm& norm) {
  RowPass(TracePass::kForward, norm.name, {{norm.input}}, {{norm.output}});
  if (norm.again && norm.needed) {
    RowPass(TracePass::kRecompute, norm.name, {{norm.input}}, {{norm.output}});
  }
  if (!norm.needed) return;
  RowPass(TracePass::kInputGradient, norm.name, {{norm.input}, {norm.output, true}},
          {{norm.input, true}});
}

TraceBuilder::Matrix TraceBuilder::Find(absl::string_view module, absl::string_view name,
                                        WeightRole role) const {
  for (size_t i = 0; i < weights_.tensors.size(); ++i) {
    const WeightTensor& tensor = weights_.tensors[i];
    if (tensor.role != role || tensor.name != name || tensor.module != module) continue;
    return {&tensor, &weights_.shards[i], IsTrained(tensor, weights_.frozen)};
  }
  return {};
}

// Replicated matrices multiply all tokens on every rank, unless the tokens are divided.
TraceBuilder::Product TraceBuilder::ProductOf(const Matrix& matrix, MatrixSplit split) const {
  const TensorShard& shard = *matrix.shard;
  const bool expert = shard.group == ShardGroup::kExpert;
  Product out = {.n = shard.rows,
                 .k = shard.columns,
                 .trained = matrix.trained,
                 .routes = matrix.tensor->component == WeightComponent::kRouter};
  if (expert) {
    out.experts = shard.copies;
  } else if (split == MatrixSplit::kColumns) {
    out.k *= shard.copies;
  } else {
    out.n *= shard.copies;
  }
  const bool repeats = split != MatrixSplit::kNone || expert || !batch().sequence_parallel;
  if (repeats) out.model_share = 1 / static_cast<double>(shard.holders);
  return out;
}

CollectiveWork TraceBuilder::TensorSum(double bytes) const {
  const bool scatters = batch().sequence_parallel;
  return {.kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
          .group = TraceGroup::kTensor,
          .bytes = bytes};
}

// A kernel before the product writes the narrow copy and its transpose, which the weight gradient
// reads, as it writes its output: norms and activation functions in Transformer Engine.
// Source: docs/step_time.md, "Narrow products".
void TraceBuilder::Quantise(TracePass pass, uint8_t input, uint8_t copy) {
  TraceOp& op = Pass(pass, "quantise", {{input}}, {{copy}});
  op.work = PassWork{.written_bytes = 2 * out_.tensors[copy].bytes()};
}

void TraceBuilder::Gather(TracePass pass, uint8_t part, uint8_t gathered) {
  Collective(pass, "gather_input",
             {.kind = CollectiveKind::kAllGather,
              .group = TraceGroup::kTensor,
              .bytes = out_.tensors[gathered].bytes()},
             {{part}}, {{gathered}});
}

void TraceBuilder::AddProductOp(TracePass pass, const Projection& projection,
                                const Product& product, uint8_t multiplied) {
  const bool slots = projection.rows == TokenRows::kSlots;
  const int64_t m = slots                                    ? rows(TokenRows::kSlots)
                    : projection.split == MatrixSplit::kNone ? rows(TokenRows::kSequence)
                                                             : rows(TokenRows::kAll);
  TraceOp& op = Add(pass, projection.op);
  op.narrow = projection.narrow && narrows();
  op.saved = product.saved;
  op.component = projection.component;
  op.flops = kFlopsPerMultiplyAdd * static_cast<double>(m) * static_cast<double>(product.n) *
             static_cast<double>(product.k);
  op.model_flops = op.flops * product.model_share;
  if (projection.repeated) {
    op.model_flops = op.flops / static_cast<double>(tensor_ranks() * batch().context_parallel_size);
  }
  const TraceOperand input = {multiplied};
  int64_t n = product.n;
  int64_t k = product.k;
  const double weights =
      static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(product.experts);
  if (!product.trained && !product.routes) op.frozen_elements = weights;
  if (pass == TracePass::kForward || pass == TracePass::kRecompute) {
    op.reads = {input};
    op.writes = product.outputs.size() > 0 ? product.outputs : projection.outputs;
  } else if (pass == TracePass::kInputGradient) {
    op.reads = GradientsOf(projection.outputs);
    op.writes = {{projection.input, true}};
    std::swap(n, k);
  } else {
    op.reads = GradientsOf(projection.outputs);
    op.reads.Add(input);
    op.gradient_elements = weights;
  }
  if (slots) {
    const auto experts = static_cast<double>(product.experts);
    op.work = GroupedMatmulWork{product.experts, static_cast<double>(m) / experts, n, k};
  } else if (pass == TracePass::kWeightGradient) {
    op.work = MatmulWork{.m = n, .n = k, .k = m};
  } else {
    op.work = MatmulWork{.m = m, .n = n, .k = k};
  }
}

void TraceBuilder::AddProduct(const Projection& projection, const Product& product,
                              uint8_t multiplied) {
  AddProductOp(TracePass::kForward, projection, product, multiplied);
  if (product.trained) {
    AddProductOp(TracePass::kWeightGradient, projection, product, multiplied);
  }
  if (projection.input_needs_gradient) {
    AddProductOp(TracePass::kInputGradient, projection, product, multiplied);
  }
}

// Matrices with the same gradients are one product where the framework fuses them.
TraceBuilder::Products TraceBuilder::ProductsOf(const Projection& projection) const {
  Products out;
  for (size_t i = 0; i < projection.names.size(); ++i) {
    const absl::string_view name = projection.names[i];
    const Matrix matrix = Find(projection.module, name, WeightRole::kWeight);
    if (matrix.tensor == nullptr) continue;
    Product product = ProductOf(matrix, projection.split);
    product.saved = saved_.has_value() && saved_->Has(projection.module, name);
    if (projection.names.size() >= projection.outputs.size()) {
      product.outputs = {projection.OutputOf(i)};
    }
    if (out.empty() || !context_.fused_projections || out.back().trained != product.trained ||
        out.back().saved != product.saved) {
      out.push_back(product);
      continue;
    }
    Product& fused = out.back();
    const auto share = [](const Product& p) { return p.model_share * static_cast<double>(p.n); };
    const int64_t n = fused.n + product.n;
    fused.model_share = (share(fused) + share(product)) / static_cast<double>(n);
    fused.n = n;
    for (const TraceOperand& output : product.outputs) fused.outputs.Add(output);
  }
  return out;
}

void TraceBuilder::RepeatProjection(const Projection& projection) {
  for (const Product& product : ProductsOf(projection)) {
    AddProductOp(TracePass::kRecompute, projection, product, projection.input);
    backward_.back().reads = {};
  }
}

void TraceBuilder::AddProjection(const Projection& projection) {
  const Products products = ProductsOf(projection);
  const bool trained = std::any_of(products.begin(), products.end(),
                                   [](const Product& product) { return product.trained; });
  const bool dense = projection.rows != TokenRows::kSlots;
  const bool by_rows = dense && projection.split == MatrixSplit::kRows;
  if (by_rows && projection.input_needs_gradient) SumInputGradient(projection);
  const uint8_t quantised = QuantisedInput(projection);
  const uint8_t multiplied = by_rows ? GatheredInput(quantised) : quantised;
  for (const Product& product : products) AddProduct(projection, product, multiplied);
  if (trained && multiplied != quantised) Gather(TracePass::kRecompute, quantised, multiplied);
  const bool narrow = quantised != projection.input;
  if (narrow && trained && (projection.keeps_computed || !keeps_narrow_)) {
    Quantise(TracePass::kRecompute, projection.input, quantised);
  }
  if (narrow && (trained || projection.input_needs_gradient)) {
    TraceOp& op =
        Pass(TracePass::kInputGradient, "quantise_gradient", GradientsOf(projection.outputs), {});
    auto& work = std::get<PassWork>(op.work);
    work.written_bytes = work.read_bytes;  // twice, at half the width
  }
  if (dense && projection.split == MatrixSplit::kColumns) SumOutput(projection);
  if (projection.adapted && context_.spec.adapters.has_value()) AddAdapters(projection);
}

uint8_t TraceBuilder::QuantisedInput(const Projection& projection) {
  if (!projection.narrow || !narrows()) return projection.input;
  for (const NarrowCopy& known : narrow_copies_) {
    if (known.of == projection.input) return known.copy;
  }
  const uint8_t copy =
      MakeWhole(out_.tensors[projection.input].elements, TraceElement::kMatmulInput);
  out_.tensors[copy].kept_elsewhere = out_.tensors[projection.input].kept_elsewhere;
  Quantise(TracePass::kForward, projection.input, copy);
  narrow_copies_.push_back({projection.input, copy});
  return copy;
}

uint8_t TraceBuilder::GatheredInput(uint8_t input) {
  if (tensor_ranks() == 1 || !batch().sequence_parallel) return input;
  const TraceTensor part = out_.tensors[input];
  out_.tensors.push_back({part.elements * tensor_ranks(), part.element_bytes, part.kept_elsewhere});
  const auto gathered = static_cast<uint8_t>(out_.tensors.size() - 1);
  Gather(TracePass::kForward, input, gathered);
  return gathered;
}

void TraceBuilder::SumInputGradient(const Projection& projection) {
  const TraceOperands gradient = {{projection.input, true}};
  const double elements = static_cast<double>(out_.tensors[projection.input].elements);
  Collective(TracePass::kInputGradient, "sum_input_gradient",
             TensorSum(elements * gathered_scale() * static_cast<double>(element_bytes_[0])),
             gradient, gradient);
}

void TraceBuilder::SumOutput(const Projection& projection) {
  const TraceOperands& output = projection.outputs;
  const double bytes = out_.tensors[output.begin()->tensor].bytes() * gathered_scale();
  Collective(TracePass::kForward, "sum_output", TensorSum(bytes), output, output);
  if (!batch().sequence_parallel) return;
  Collective(TracePass::kInputGradient, "gather_output_gradient",
             {CollectiveKind::kAllGather, TraceGroup::kTensor, bytes}, GradientsOf(output), {});
}

void TraceBuilder::Finish(bool recompute) {
  if (recompute) {
    const size_t end = out_.ops.size();
    out_.ops.reserve(end + end - first_op_ + backward_.size());
    for (size_t i = first_op_; i < end; ++i) {
      if (saved_.has_value() && IsSaved(out_.ops[i])) continue;
      out_.ops.push_back(out_.ops[i]);
      out_.ops.back().pass = TracePass::kRecompute;
    }
  }
  out_.ops.insert(out_.ops.end(), backward_.rbegin(), backward_.rend());
  backward_.clear();
}

}  // namespace sextant
