#include "engine/memory/optimizer_state.h"

#include "engine/base/checked_math.h"

namespace sextant {
namespace {

// Buffers keep views of these, so they have to outlive every call.
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
constexpr BufferRule kAdam[] = {{.name = "first_moment", .source = kAdamSource},
                                {.name = "second_moment", .source = kAdamSource}};

int64_t NumbersOf(BufferShape shape, const WeightTensor& t) {
  if (shape == BufferShape::kElements) return t.rows * t.columns;
  return t.is_vector() ? t.rows : t.rows + t.columns;
}

}  // namespace

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
                       const WeightTensors& tensors) {
  if (shape == BufferShape::kElements && scope == BufferScope::kAll) return trainable;
  int64_t sum = 0;
  for (const WeightTensor& t : tensors) {
    if (InScope(scope, t)) sum += NumbersOf(shape, t) * t.trained_copies();
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

}  // namespace sextant
