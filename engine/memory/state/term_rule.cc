#include "engine/memory/state/term_rule.h"

namespace sextant {
namespace {

constexpr char kByDefinition[] = "by definition";
constexpr char kMixedPrecision[] =
    "mixed precision, Micikevicius et al. 2018 (arXiv 1710.03740) section 3.1";
constexpr char kEightBits[] =
    "Dettmers et al. 2022 (arXiv 2110.02861) section 2: 8 bits and block scales";

int64_t BitsOf(DataType type) { return 8 * StorageBytes(type); }

TermRule GradientTerm(const PrecisionPolicy& precision) {
  return {.kind = LedgerKind::kGradient,
          .name = "gradient",
          .data_type = precision.gradient_data_type,
          .element_bits = BitsOf(precision.gradient_data_type),
          .why = "adds up over micro-batches until the optimizer's step",
          .source = kByDefinition};
}

TermRule MasterTerm() {
  return {.kind = LedgerKind::kMasterWeight,
          .name = "master_weight",
          .data_type = DataType::kFp32,
          .element_bits = BitsOf(DataType::kFp32),
          .why = "what the optimizer updates; the weight is its rounded copy",
          .source = kMixedPrecision};
}

// 8-bit Adam has both moments in 8 bits, in blocks with a scale each. The paper's rule that small
// tensors stay in 32 bits is not modelled.
TermRule BufferTerm(const BufferRule& buffer, const PrecisionPolicy& precision,
                    const OptimizerSpec& optimizer) {
  TermRule out = {.kind = LedgerKind::kOptimizerState,
                  .name = buffer.name,
                  .data_type = precision.optimizer_data_type,
                  .element_bits = BitsOf(precision.optimizer_data_type),
                  .shape = buffer.shape,
                  .scope = buffer.scope,
                  .why = "read and written by the optimizer's step",
                  .source = buffer.source};
  if (optimizer.kind != OptimizerKind::kAdam8bit) return out;
  out.data_type = DataType::kInt8;
  out.element_bits = 8;
  out.block_size = optimizer.quantization_block_size.value_or(kDefaultQuantizationBlockSize);
  out.source = kEightBits;
  return out;
}

}  // namespace

TermRule WeightTerm(const PrecisionPolicy& precision) {
  return {.kind = LedgerKind::kWeight,
          .name = "weight",
          .data_type = precision.weight_data_type,
          .element_bits = BitsOf(precision.weight_data_type),
          .why = "what forward and backward passes compute with",
          .source = kByDefinition};
}

TermRules TrainedTerms(const PrecisionPolicy& precision, const OptimizerSpec& optimizer) {
  TermRules out;
  out.push_back(GradientTerm(precision));
  if (precision.master_weights.value_or(false)) out.push_back(MasterTerm());
  for (const BufferRule& buffer : BufferRulesOf(optimizer)) {
    out.push_back(BufferTerm(buffer, precision, optimizer));
  }
  return out;
}

}  // namespace sextant
