#include "engine/memory/model_state.h"

#include <algorithm>

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

// Rows keep views of these.
constexpr char kAdamSource[] = "Kingma, Ba 2015 (arXiv 1412.6980) algorithm 1: m and v";

constexpr char kAdafactorSource[] =
    "Shazeer, Stern 2018 (arXiv 1804.04235) algorithm 4: row and column sums of a matrix";

constexpr char kMuonSource[] =
    "Muon keeps one momentum a hidden matrix and leaves the rest to AdamW: "
    "KellerJordan/Muon README.md @50c4225d6d5d";

constexpr BufferRule kSgdMomentum[] = {
    {.name = "momentum", .source = "torch.optim.SGD with momentum: momentum_buffer"}};

constexpr BufferRule kAdagrad[] = {
    {.name = "squared_gradient_sum", .source = "Duchi et al. 2011, JMLR 12: diagonal AdaGrad"}};

constexpr BufferRule kRmsprop[] = {
    {.name = "squared_gradient_mean", .source = "torch.optim.RMSprop, not centered: square_avg"}};

constexpr BufferRule kLion[] = {
    {.name = "momentum", .source = "Chen et al. 2023 (arXiv 2302.06675) algorithm 2: m"}};

constexpr BufferRule kAdafactor[] = {{.name = "factored_second_moment",
                                      .shape = BufferShape::kRowsAndColumns,
                                      .source = kAdafactorSource},
                                     {.name = "first_moment", .source = kAdafactorSource}};

constexpr BufferRule kMuon[] = {
    {.name = "muon_momentum", .scope = BufferScope::kHiddenMatrices, .source = kMuonSource},
    {.name = "first_moment", .scope = BufferScope::kOthers, .source = kMuonSource},
    {.name = "second_moment", .scope = BufferScope::kOthers, .source = kMuonSource}};

constexpr char kGaloreSource[] = "Zhao et al. 2024 (GaLore, arXiv 2403.03507) algorithm 2";

constexpr BufferRule kGalore[] = {
    {.name = "low_rank_state",
     .shape = BufferShape::kLowRank,
     .scope = BufferScope::kHiddenMatrices,
     .source = kGaloreSource},
    {.name = "first_moment", .scope = BufferScope::kOthers, .source = kGaloreSource},
    {.name = "second_moment", .scope = BufferScope::kOthers, .source = kGaloreSource}};

constexpr BufferRule kAdam[] = {{.name = "first_moment", .source = kAdamSource},
                                {.name = "second_moment", .source = kAdamSource}};

int64_t NumbersOf(BufferShape shape, const WeightTensor& t, int64_t rank) {
  if (shape == BufferShape::kElements) return t.rows * t.columns;
  if (shape == BufferShape::kLowRank) return LowRankNumbers(t.rows, t.columns, rank);
  return t.is_vector() ? t.rows : t.rows + t.columns;
}

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

// 8-bit Adam has both moments in 8 bits, in blocks with one scale each. The paper's rule that
// small tensors stay in 32 bits is not modelled.
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
  if (buffer.shape == BufferShape::kLowRank) {
    out.rank = optimizer.galore_rank.value_or(kDefaultGaloreRank);
  }
  if (optimizer.kind != OptimizerKind::kAdam8bit) return out;
  out.data_type = DataType::kInt8;
  out.element_bits = 8;
  out.block_size = optimizer.quantization_block_size.value_or(kDefaultQuantizationBlockSize);
  out.source = kEightBits;
  return out;
}

// Adds up terms and remembers an overflow.
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

StateTerm TermOf(const TermRule& rule, int64_t elements) {
  return {.name = rule.name,
          .data_type = rule.data_type,
          .elements = elements,
          .element_bytes = rule.element_bits / 8,
          .source = rule.source};
}

}  // namespace

int64_t LowRankNumbers(int64_t rows, int64_t columns, int64_t rank) {
  const int64_t shorter = std::min(rows, columns);
  return std::min(rank, shorter) * (2 * std::max(rows, columns) + shorter);
}

absl::Span<const BufferRule> BufferRulesOf(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return {};
    case OptimizerKind::kSgdMomentum:
      return kSgdMomentum;
    case OptimizerKind::kAdagrad:
      return kAdagrad;
    case OptimizerKind::kRmsprop:
      return kRmsprop;
    case OptimizerKind::kLion:
      return kLion;
    case OptimizerKind::kAdafactor:
      return absl::MakeConstSpan(kAdafactor, optimizer.adafactor_momentum ? 2 : 1);
    case OptimizerKind::kMuon:
      return kMuon;
    case OptimizerKind::kGalore:
      return kGalore;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
    case OptimizerKind::kAdam8bit:
      break;
  }
  return kAdam;
}

bool IsHiddenMatrix(const WeightTensor& tensor) {
  return !tensor.is_vector() && !IsEmbedding(tensor.component);
}

bool InScope(BufferScope scope, const WeightTensor& tensor) {
  return scope == BufferScope::kAll ||
         IsHiddenMatrix(tensor) == (scope == BufferScope::kHiddenMatrices);
}

int64_t BufferElements(BufferShape shape, BufferScope scope, int64_t trainable,
                       const WeightTensors& tensors, int64_t rank) {
  if (shape == BufferShape::kElements && scope == BufferScope::kAll) return trainable;
  int64_t sum = 0;
  for (const WeightTensor& t : tensors) {
    if (InScope(scope, t)) sum += NumbersOf(shape, t, rank) * t.trained_copies();
  }
  return sum;
}

int64_t ScaleCount(int64_t block_size, int64_t trainable, const WeightTensors& tensors) {
  if (tensors.empty()) return CeilDivide(trainable, block_size);
  int64_t sum = 0;
  for (const WeightTensor& t : tensors) {
    sum += t.trained_copies() * CeilDivide(t.rows * t.columns, block_size);
  }
  return sum;
}

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
  if (!optimizer.in_backward) out.push_back(GradientTerm(precision));
  if (precision.master_weights.value_or(false)) out.push_back(MasterTerm());
  for (const BufferRule& buffer : BufferRulesOf(optimizer)) {
    out.push_back(BufferTerm(buffer, precision, optimizer));
  }
  return out;
}

absl::StatusOr<ModelState> ModelStateOf(const WeightCount& parameters, const WeightTensors& tensors,
                                        const PrecisionPolicy& precision,
                                        const OptimizerSpec& optimizer) {
  TermList terms;
  const int64_t trained = parameters.trainable;
  terms.Add(TermOf(WeightTerm(precision), parameters.total));
  for (const TermRule& rule : TrainedTerms(precision, optimizer)) {
    StateTerm term =
        TermOf(rule, BufferElements(rule.shape, rule.scope, trained, tensors, rule.rank));
    if (rule.block_size > 0) {
      term.scale_bytes = kBlockScaleBytes * ScaleCount(rule.block_size, trained, tensors);
    }
    terms.Add(term);
  }
  return terms.Finish();
}

SavedState CheckpointOf(const ModelState& state, const WeightCount& parameters) {
  SavedState out;
  for (const StateTerm& term : state.terms) {
    if (term.is_gradient()) continue;
    const Bytes size = term.name == "weight" && parameters.trainable < parameters.total
                           ? Bytes(parameters.trainable * term.element_bytes)
                           : term.size;
    if (size == Bytes(0)) continue;
    out.terms.push_back({term.name, size});
    out.size = out.size + size;
  }
  return out;
}

}  // namespace sextant
