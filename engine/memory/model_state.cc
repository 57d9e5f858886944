#include "engine/memory/model_state.h"

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/memory/optimizer_state.h"

namespace sextant {
namespace {

constexpr int64_t kScaleBytes = 4;  // an fp32 scale a block

// Terms keep views of these, so they have to outlive every call.
constexpr char kByDefinition[] = "by definition";
constexpr char kMixedPrecision[] =
    "mixed precision, Micikevicius et al. 2018 (arXiv 1710.03740) section 3.1";

// Adds terms and keeps their sum, remembering an overflow.
class TermList {
 public:
  void Add(StateTerm term) {
    if (term.elements == 0) return;
    const CheckedInt size = CheckedInt(term.elements) * term.element_bytes + term.scale_bytes;
    total_ = total_ + size;
    term.size = Bytes(size.value());
    state_.terms.push_back(term);
  }
  absl::StatusOr<ModelState> Finish() {
    if (!total_.ok()) return InvalidField("model", "needs more than 9.2e18 bytes of state");
    state_.total = Bytes(total_.value());
    return state_;
  }

 private:
  ModelState state_;
  CheckedInt total_ = 0;
};

StateTerm TermOf(absl::string_view name, DataType type, int64_t elements,
                 absl::string_view source) {
  return {.name = name,
          .data_type = type,
          .elements = elements,
          .element_bytes = StorageBytes(type),
          .source = source};
}

// Source: Dettmers et al. 2022 (arXiv 2110.02861) section 2: both moments in 8 bits, in
// blocks with a scale each. The paper's rule that small tensors stay in 32 bits is not
// modelled.
StateTerm QuantizedTerm(const OptimizerBuffer& buffer, int64_t scale_count) {
  return {.name = buffer.name,
          .data_type = DataType::kInt8,
          .elements = buffer.elements,
          .element_bytes = 1,
          .scale_bytes = kScaleBytes * scale_count,
          .source = "Dettmers et al. 2022 (arXiv 2110.02861) section 2: 8 bits and block scales"};
}

}  // namespace

absl::StatusOr<ModelState> ModelStateOf(const WeightCount& parameters, const WeightTensors& tensors,
                                        const PrecisionPolicy& precision,
                                        const OptimizerSpec& optimizer) {
  TermList terms;
  const int64_t trained = parameters.trainable;
  terms.Add(TermOf("weight", precision.weight_data_type, parameters.total, kByDefinition));
  terms.Add(TermOf("gradient", precision.gradient_data_type, trained, kByDefinition));
  if (precision.master_weights.value_or(false)) {
    terms.Add(TermOf("master_weight", DataType::kFp32, trained, kMixedPrecision));
  }
  const bool quantized = optimizer.kind == OptimizerKind::kAdam8bit;
  const int64_t scales =
      quantized
          ? ScaleCount(optimizer.quantization_block_size.value_or(kDefaultQuantizationBlockSize),
                       trained, tensors)
          : 0;
  for (const OptimizerBuffer& b : OptimizerBuffersOf(optimizer, trained, tensors)) {
    terms.Add(quantized ? QuantizedTerm(b, scales)
                        : TermOf(b.name, precision.optimizer_data_type, b.elements, b.source));
  }
  return terms.Finish();
}

}  // namespace sextant
