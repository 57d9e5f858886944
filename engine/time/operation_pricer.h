// The time of each operation of a trace on one device.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_PRICER_H_
#define SEXTANT_ENGINE_TIME_OPERATION_PRICER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/interval.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/placement.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/predict/stream_predictor.h"
#include "engine/hardware/predict/sustained_rate.h"
#include "engine/model/trace/trace.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The kinds of kernels that are priced by one model each. Errors of one kind are shared by all of
// its kernels; those of two kinds are independent.
enum class KernelKind { kMatmul, kGroupedMatmul, kAttention, kMemoryPass };
inline constexpr size_t kKernelKindCount = 4;

// The kind of `op`; absent: a collective.
inline absl::optional<KernelKind> KernelKindOf(const TraceOp& op) {
  if (std::holds_alternative<PassWork>(op.work)) return KernelKind::kMemoryPass;
  if (std::holds_alternative<MatmulWork>(op.work)) return KernelKind::kMatmul;
  if (std::holds_alternative<GroupedMatmulWork>(op.work)) return KernelKind::kGroupedMatmul;
  if (std::holds_alternative<AttentionWork>(op.work)) return KernelKind::kAttention;
  return absl::nullopt;
}

// The types that a trace's products are multiplied in.
struct PricedTypes {
  DataType compute = DataType::kBf16;
  // The type of TraceOp::narrow products; kUnspecified: there are none.
  DataType narrow = DataType::kUnspecified;
  absl::optional<MatmulScaling> scaling = {};  // of fp8; absent: the type's usual one
};

// Ratios of a stack's kernel times to the measured ones.
struct KernelRatios {
  double attention = 1;    // of times
  double memory_pass = 1;  // of the passes of a trace
  // Passes that copy tokens for the ranks of their experts and sum what comes back; 0: the
  // exchange's own kernels do so (DeepEP, HybridEP).
  double dispatch = 1;
  double narrow_product = 1;
  double expert = 1;
  double narrow_expert = 1;
  double optimizer = 1;           // of its step
  double gradient_overlap = 0.4;  // Accumulation::overlap
  // Override MatmulPredictor::SlowdownOf() for misaligned matmuls, single and batched.
  absl::optional<double> misaligned_product = {};
  absl::optional<double> misaligned_head = {};
  // Time of products in a long run over a burst's, in place of the device's.
  absl::optional<double> sustained = {};
  absl::optional<double> narrow_sustained = {};
};

// Adds up times: the errors of one kind of kernels as they are, those of different kinds by
// squares.
class TimeSum {
 public:
  void Add(KernelKind kind, const KernelTime& time);
  SecondsInterval interval() const;

 private:
  struct Ends {
    double below = 0;
    double above = 0;
  };
  Seconds expected_ = {};
  std::array<Ends, kKernelKindCount> kinds_ = {};
};

class OperationPricer {
 public:
  // Absent where products, attention or memory passes of one of the types are unknown on `device`.
  // `device` outlives the result.
  //
  // Errors: those of DeviceModel's predictors, where measurements are damaged.
  static absl::StatusOr<absl::optional<OperationPricer>> Of(const PlacedDevice& device,
                                                            const PricedTypes& types,
                                                            const KernelRatios& ratios = {});

  // The time of all launches of `op` in a long run; 0 for collectives. Allocates nothing.
  KernelTime TimeOf(const TraceOp& op) const {
    const auto* const pass = std::get_if<PassWork>(&op.work);
    return (pass != nullptr ? PassTime(*pass) : ComputeTime(op)) * static_cast<double>(op.launches);
  }

  // Time factor of `op`: memory_pass, times dispatch for token exchange; 1 for everything else.
  double PassRatioOf(const TraceOp& op, bool sends_tokens) const;

  // The share of the arithmetic in the time of a product: MatmulPredictor::WorkShare().
  double WorkShareOf(const TraceOp& op) const;

  const KernelRatios& ratios() const { return ratios_; }

  // Sources of times, and the index of `op`'s.
  static constexpr size_t kSourceCount = 9;
  KernelSource source(size_t index) const { return device_.SourceOf(*sources_[index]); }
  std::vector<KernelSource> sources() const;
  size_t SourceOf(const TraceOp& op) const;
  bool IsOfDatasheet(size_t source) const {
    return sources_[source]->source == RateSource::kDatasheet;
  }

 private:
  // Products in one type.
  struct Products {
    const MatmulPredictor* matmuls = nullptr;
    const GroupedMatmulPredictor* experts = nullptr;  // null: by `matmuls`
    Derating derating = {};
  };

  OperationPricer() = default;
  static absl::StatusOr<absl::optional<Products>> ProductsIn(const DeviceModel& model,
                                                             MatmulType type);
  const Products& Of(const TraceOp& op) const { return op.narrow ? narrow_ : compute_; }
  KernelTime MatmulTime(const TraceOp& op, const MatmulWork& work) const;
  void Realign(const MatmulBatch& product, const MatmulPredictor& matmuls, KernelTime& time) const;
  KernelTime GroupedTime(const TraceOp& op, const GroupedMatmulWork& work) const;
  KernelTime AttentionTime(const TraceOp& op, const AttentionWork& work) const;
  // The time of one launch, for everything but a pass over memory.
  KernelTime ComputeTime(const TraceOp& op) const;
  KernelTime PassTime(const PassWork& work) const {
    return streams_->Predict({.read_bytes = work.read_bytes, .written_bytes = work.written_bytes},
                             work.sums_rows ? StreamKind::kRows : StreamKind::kElementwise);
  }

  Products compute_;
  Products narrow_;
  const AttentionPredictor* attention_ = nullptr;
  const StreamPredictor* streams_ = nullptr;
  Derating attention_derating_ = {};
  KernelRatios ratios_ = {};
  PlacedDevice device_;
  // Attention's last: heads of one size and latent ones, forward and backward.
  std::array<const KernelSource*, kSourceCount> sources_ = {};
};

// Layers of several kinds, and layouts, have products, passes and attention of the same sizes. Of
// those that share a slot the last one is kept.
class PricedOperations {
 public:
  // For one layout, whose passes over memory are as fast to price as to find. `pricer` outlives
  // this.
  explicit PricedOperations(const OperationPricer& pricer)
      : PricedOperations(pricer, kOfLayout, false) {}
  // For many layouts. `slots` is a power of two up to 2^15.
  PricedOperations(const OperationPricer& pricer, size_t slots)
      : PricedOperations(pricer, slots, true) {}

  const OperationPricer& pricer() const { return pricer_; }

  // OperationPricer::TimeOf().
  KernelTime TimeOf(const TraceOp& op) {
    const bool keeps = keeps_passes_ || !std::holds_alternative<PassWork>(op.work);
    return keeps ? TimeOfKept(op) : pricer_.TimeOf(op);
  }

 private:
  struct Entry {
    TraceWork work;
    TracePass pass;  // not of PassWork, which takes as long in all
    bool narrow;     // likewise
    int64_t launches;
    KernelTime time;
  };
  static constexpr size_t kOfLayout = 64;

  PricedOperations(const OperationPricer& pricer, size_t slots, bool keeps_passes)
      : pricer_(pricer), keeps_passes_(keeps_passes), slots_(slots) {
    entries_.reserve(kOfLayout);
  }
  KernelTime TimeOfKept(const TraceOp& op);

  const OperationPricer& pricer_;
  const bool keeps_passes_;
  std::vector<uint16_t> slots_;  // 1 + index of entries_; 0: empty
  std::vector<Entry> entries_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_PRICER_H_
