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

// Numbers in the factored second moment: rows + columns of a matrix, the length of a vector.
int64_t FactoredElements(const WeightTensors& tensors) {
  int64_t sum = 0;
  for (const WeightTensor& t : tensors) {
    sum += t.trained_copies() * (t.is_vector() ? t.rows : t.rows + t.columns);
  }
  return sum;
}

// Parameters that Muon itself updates: matrices inside the layers.
int64_t HiddenMatrixElements(const WeightTensors& tensors) {
  int64_t sum = 0;
  for (const WeightTensor& t : tensors) {
    if (!t.is_vector() && !IsEmbedding(t.component)) sum += t.rows * t.columns * t.trained_copies();
  }
  return sum;
}

OptimizerBuffers MuonBuffers(int64_t count, const WeightTensors& tensors) {
  const int64_t hidden = HiddenMatrixElements(tensors);
  OptimizerBuffers out;
  out.push_back({"muon_momentum", hidden, kMuonSource});
  out.push_back({"first_moment", count - hidden, kMuonSource});
  out.push_back({"second_moment", count - hidden, kMuonSource});
  return out;
}

OptimizerBuffers AdafactorBuffers(int64_t count, const WeightTensors& tensors, bool momentum) {
  OptimizerBuffers out;
  out.push_back({"factored_second_moment", FactoredElements(tensors), kAdafactorSource});
  if (momentum) out.push_back({"first_moment", count, kAdafactorSource});
  return out;
}

}  // namespace

OptimizerBuffers OptimizerBuffersOf(const OptimizerSpec& optimizer, int64_t count,
                                    const WeightTensors& tensors) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return {};
    case OptimizerKind::kSgdMomentum:
      return {{"momentum", count, "torch.optim.SGD with momentum: momentum_buffer"}};
    case OptimizerKind::kAdagrad:
      return {{"squared_gradient_sum", count, "Duchi et al. 2011, JMLR 12: diagonal AdaGrad"}};
    case OptimizerKind::kRmsprop:
      return {{"squared_gradient_mean", count, "torch.optim.RMSprop, not centered: square_avg"}};
    case OptimizerKind::kLion:
      return {{"momentum", count, "Chen et al. 2023 (arXiv 2302.06675) algorithm 2: m"}};
    case OptimizerKind::kAdafactor:
      return AdafactorBuffers(count, tensors, optimizer.adafactor_momentum);
    case OptimizerKind::kMuon:
      return MuonBuffers(count, tensors);
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
    case OptimizerKind::kAdam8bit:
      break;
  }
  return {{"first_moment", count, kAdamSource}, {"second_moment", count, kAdamSource}};
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
