// Prices an operation by its kind of work. The predictor of that kind (matmul, grouped matmul,
// attention, memory pass) gives the time of a burst. Sustained() lengthens the arithmetic's share
// of it to the rate of a long run, and the software stack's ratio for the kind scales the result.
// Where the stack knows the slowdown of misaligned matmuls, Realign() replaces the predictor's own.
//
// Predictors are looked up once, in Of(). TimeOf() then allocates nothing and does one prediction.
#include "engine/time/operation_pricer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "engine/base/status_macros.h"
#include "engine/hardware/device_model.h"

namespace sextant {
namespace {

// The layout of a product's operands in memory.
MatmulPass PassOf(TracePass pass) {
  switch (pass) {
    case TracePass::kInputGradient:
      return MatmulPass::kInputGradient;
    case TracePass::kWeightGradient:
      return MatmulPass::kWeightGradient;
    default:
      return MatmulPass::kForward;
  }
}

// `derating` with `given` in place of its factors.
void Replace(absl::optional<double> given, Derating& derating) {
  if (!given.has_value()) return;
  derating.low += *given - derating.expected;
  derating.high += *given - derating.expected;
  derating.expected = *given;
}

// Multiplied by 2^64 / golden ratio: Knuth, "The Art of Computer Programming", section 6.4. The
// upper bits are the mixed ones.
uint64_t Mix(uint64_t hash, uint64_t value) {
  const uint64_t product = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return product ^ product >> 32;
}

uint64_t Mix(uint64_t hash, int64_t value) { return Mix(hash, static_cast<uint64_t>(value)); }
uint64_t Mix(uint64_t hash, double value) { return Mix(hash, std::bit_cast<uint64_t>(value)); }

// 0: not kept.
uint64_t HashOf(const TraceWork& work) {
  if (const auto* pass = std::get_if<PassWork>(&work)) {
    return Mix(Mix(1, pass->read_bytes), pass->written_bytes);
  }
  if (const auto* matmul = std::get_if<MatmulWork>(&work)) {
    return Mix(Mix(Mix(2, matmul->m), matmul->n), matmul->k);
  }
  if (const auto* attention = std::get_if<AttentionWork>(&work)) {
    return Mix(Mix(Mix(3, attention->queries), attention->keys), attention->heads);
  }
  return 0;  // of work whose sizes come but once
}

}  // namespace

void TimeSum::Add(KernelKind kind, const KernelTime& time) {
  Ends& ends = kinds_[static_cast<size_t>(kind)];
  expected_ = expected_ + time.expected;
  ends.below += (time.expected - time.low).value();
  ends.above += (time.high - time.expected).value();
}

SecondsInterval TimeSum::interval() const {
  double below = 0;
  double above = 0;
  for (const Ends& ends : kinds_) {
    below += ends.below * ends.below;
    above += ends.above * ends.above;
  }
  return {expected_ - Seconds(std::sqrt(below)), expected_, expected_ + Seconds(std::sqrt(above))};
}

absl::StatusOr<absl::optional<OperationPricer::Products>> OperationPricer::ProductsIn(
    const DeviceModel& model, MatmulType type) {
  Products out;
  SEXTANT_ASSIGN_OR_RETURN(out.matmuls, model.Matmuls(type));
  // One product of a layer of experts is the same with and without a gate.
  SEXTANT_ASSIGN_OR_RETURN(out.experts, model.Experts({type.data_type, true, type.scaling}));
  if (out.matmuls == nullptr) return absl::optional<Products>();
  SEXTANT_ASSIGN_OR_RETURN(out.derating, model.SustainedDerating(type.data_type));
  return absl::make_optional(std::move(out));
}

absl::StatusOr<absl::optional<OperationPricer>> OperationPricer::Of(const PlacedDevice& device,
                                                                    const PricedTypes& types,
                                                                    const KernelRatios& ratios) {
  absl::optional<OperationPricer> none;
  if (device.model == nullptr) return none;
  OperationPricer out;
  out.ratios_ = ratios;
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<Products> compute,
                           ProductsIn(*device.model, UsualMatmulType(types.compute)));
  SEXTANT_ASSIGN_OR_RETURN(out.attention_, device.model->Attention(types.compute));
  SEXTANT_ASSIGN_OR_RETURN(out.streams_, device.model->Streams(types.compute));
  if (!compute.has_value() || out.attention_ == nullptr || out.streams_ == nullptr) return none;
  out.compute_ = out.narrow_ = *std::move(compute);
  if (types.narrow != DataType::kUnspecified) {
    SEXTANT_ASSIGN_OR_RETURN(
        absl::optional<Products> narrow,
        ProductsIn(*device.model, ScaledMatmulType(types.narrow, types.scaling)));
    if (!narrow.has_value()) return none;
    out.narrow_ = *std::move(narrow);
  }
  out.attention_derating_ = DeratingOfAttention(out.compute_.derating);
  Replace(ratios.sustained, out.compute_.derating);
  Replace(types.narrow == DataType::kUnspecified ? ratios.sustained : ratios.narrow_sustained,
          out.narrow_.derating);
  out.device_ = device;
  constexpr AttentionShape kUsual = {.query_key_head_size = 128, .value_head_size = 128};
  constexpr AttentionShape kLatent = {.query_key_head_size = 192, .value_head_size = 128};
  const auto of_experts = [](const Products& products) {
    return products.experts == nullptr ? &products.matmuls->source() : &products.experts->source();
  };
  const AttentionPredictor& attention = *out.attention_;
  out.sources_ = {&out.compute_.matmuls->source(),
                  of_experts(out.compute_),
                  &out.narrow_.matmuls->source(),
                  of_experts(out.narrow_),
                  &out.streams_->source(),
                  &attention.SourceOf(kUsual),
                  &attention.SourceOf(kLatent),
                  &attention.BackwardSourceOf(kUsual),
                  &attention.BackwardSourceOf(kLatent)};
  return absl::make_optional(std::move(out));
}

std::vector<KernelSource> OperationPricer::sources() const {
  std::vector<KernelSource> out;
  for (size_t i = 0; i < kSourceCount; ++i) out.push_back(source(i));
  return out;
}

size_t OperationPricer::SourceOf(const TraceOp& op) const {
  if (std::holds_alternative<PassWork>(op.work)) return 4;
  if (const auto* attention = std::get_if<AttentionWork>(&op.work)) {
    const bool latent = attention->query_key_head_size > attention->value_head_size;
    return 5 + (latent ? 1U : 0U) + (op.pass == TracePass::kInputGradient ? 2U : 0U);
  }
  return (op.narrow ? 2U : 0U) + (std::holds_alternative<GroupedMatmulWork>(op.work) ? 1U : 0U);
}

// Replaces the stated slowdown that `time` has by the one that was given.
void OperationPricer::Realign(const MatmulBatch& product, const MatmulPredictor& matmuls,
                              KernelTime& time) const {
  const absl::optional<double> given =
      product.batch > 1 ? ratios_.misaligned_head : ratios_.misaligned_product;
  if (!given.has_value()) return;
  const MatmulSlowdown stated = matmuls.SlowdownOf(product);
  if (stated.high == 1) return;
  const double share = matmuls.WorkShare(product);
  const double factor = 1 + (*given - 1) * share;
  time.expected = time.expected * (factor / (1 + (stated.expected - 1) * share));
  time.low = time.low * factor;
  time.high = time.high * (factor / stated.high);
}

// Batches are of the core of attention, whose operands are not weights: any layout.
KernelTime OperationPricer::MatmulTime(const TraceOp& op, const MatmulWork& work) const {
  const Products& by = Of(op);
  MatmulBatch product = {work.batch, {work.m, work.n, work.k, PassOf(op.pass)}};
  if (work.batch > 1 && op.pass != TracePass::kForward) {
    product.each.pass = MatmulPass::kOtherLayout;
  }
  KernelTime burst = work.batch == 1 && op.narrow ? by.matmuls->PredictQuantised(product.each)
                                                  : by.matmuls->PredictBatch(product);
  if (!IsAligned(product.each)) Realign(product, *by.matmuls, burst);
  const KernelTime time = Sustained(burst, by.derating, by.matmuls->WorkShare(product));
  return op.narrow ? time * ratios_.narrow_product : time;
}

KernelTime OperationPricer::GroupedTime(const TraceOp& op, const GroupedMatmulWork& work) const {
  const Products& by = Of(op);
  const double ratio = op.narrow ? ratios_.narrow_expert : ratios_.expert;
  if (by.experts == nullptr) {
    const auto m = static_cast<int64_t>(std::ceil(work.rows_per_expert));
    return MatmulTime(op, {work.experts, m, work.n, work.k}) * ratio;
  }
  const KernelTime burst = by.experts->PredictProduct({.experts = work.experts,
                                                       .rows_per_expert = work.rows_per_expert,
                                                       .n = work.n,
                                                       .k = work.k,
                                                       .pass = PassOf(op.pass)});
  // All experts' rows draw power together.
  const auto rows = static_cast<int64_t>(work.rows_per_expert * static_cast<double>(work.experts));
  const MatmulShape all = {std::max<int64_t>(rows, 1), work.n, work.k};
  return Sustained(burst, by.derating, by.matmuls->WorkShare(all)) * ratio;
}

// Experts have the share of one expert's rows: their weights are read, and their gradients written,
// each.
double OperationPricer::WorkShareOf(const TraceOp& op) const {
  if (const auto* matmul = std::get_if<MatmulWork>(&op.work)) {
    return Of(op).matmuls->WorkShare({matmul->batch, {matmul->m, matmul->n, matmul->k}});
  }
  const auto* grouped = std::get_if<GroupedMatmulWork>(&op.work);
  if (grouped == nullptr) return 0;
  const auto rows = static_cast<int64_t>(std::ceil(grouped->rows_per_expert));
  return Of(op).matmuls->WorkShare({grouped->experts, {rows, grouped->n, grouped->k}});
}

KernelTime OperationPricer::AttentionTime(const TraceOp& op, const AttentionWork& work) const {
  const AttentionShape shape = {.batch = work.batch,
                                .sequence = work.queries,
                                .key_sequence = work.keys,
                                .heads = work.heads,
                                .key_value_heads = work.key_value_heads,
                                .query_key_head_size = work.query_key_head_size,
                                .value_head_size = work.value_head_size,
                                .causal = work.causal,
                                .window = work.window};
  const bool backward = op.pass == TracePass::kInputGradient;
  const KernelTime burst =
      backward ? attention_->PredictBackward(shape) : attention_->Predict(shape);
  return Sustained(burst, attention_derating_, 1) * ratios_.attention;
}

// Source: NVIDIA/Megatron-LM core_v0.15.0, megatron/core/transformer/moe/token_dispatcher.py: the
// flexible dispatcher sends tokens without permuting them for ranks.
double OperationPricer::PassRatioOf(const TraceOp& op, bool sends_tokens) const {
  if (!std::holds_alternative<PassWork>(op.work)) return 1;
  const bool dispatches =
      sends_tokens && op.module == "experts" && (op.name == "permute" || op.name == "combine");
  return ratios_.memory_pass * (dispatches ? ratios_.dispatch : 1);
}

KernelTime OperationPricer::ComputeTime(const TraceOp& op) const {
  if (const auto* matmul = std::get_if<MatmulWork>(&op.work)) return MatmulTime(op, *matmul);
  if (const auto* grouped = std::get_if<GroupedMatmulWork>(&op.work)) {
    return GroupedTime(op, *grouped);
  }
  const auto* const attention = std::get_if<AttentionWork>(&op.work);
  return attention != nullptr ? AttentionTime(op, *attention) : KernelTime();
}

KernelTime PricedOperations::TimeOfKept(const TraceOp& op) {
  const uint64_t hash = HashOf(op.work);
  if (hash == 0) return pricer_.TimeOf(op);
  const bool any_pass = std::holds_alternative<PassWork>(op.work);
  const TracePass pass = any_pass ? TracePass::kForward : op.pass;
  const bool narrow = !any_pass && op.narrow;
  const auto priced = [&] { return Entry{op.work, pass, narrow, op.launches, pricer_.TimeOf(op)}; };
  uint16_t& slot = slots_[(hash + static_cast<uint64_t>(pass)) & (slots_.size() - 1)];
  if (slot == 0) {
    entries_.push_back(priced());
    slot = static_cast<uint16_t>(entries_.size());
    return entries_.back().time;
  }
  Entry& entry = entries_[slot - size_t{1}];
  if (entry.launches != op.launches || entry.pass != pass || entry.narrow != narrow ||
      entry.work != op.work) {
    entry = priced();
  }
  return entry.time;
}

}  // namespace sextant
