#include "engine/memory/state/weight_scales.h"

#include <utility>

#include "engine/base/checked_math.h"

namespace sextant {
namespace {

constexpr int64_t kFp32Bytes = 4;
constexpr int64_t kFp8Block = 128;
constexpr int64_t kMxBlock = 32;
constexpr int64_t kFourBitBlock = 64;
constexpr int64_t kScalesOfAScale = 256;

}  // namespace

int64_t Fp8ScaleBytes(WeightScaling scaling, const TensorShard& shard, bool transposed) {
  int64_t rows = shard.rows;
  int64_t columns = shard.columns;
  if (transposed || columns == 1) std::swap(rows, columns);
  switch (scaling) {
    case WeightScaling::kNone:
      return 0;
    case WeightScaling::kTensor:
      return kFp32Bytes * shard.copies;
    case WeightScaling::kBlock:
      return kFp32Bytes * CeilDivide(rows, kFp8Block) * CeilDivide(columns, kFp8Block) *
             shard.copies;
    case WeightScaling::kMx:
      return rows * CeilDivide(columns, kMxBlock) * shard.copies;
  }
  return 0;
}

int64_t QuantizedScaleBytes(const FrozenWeightFormat& format, const TensorShard& shard) {
  const bool by_row = format.block_size == 0 && format.data_type == DataType::kInt8;
  const int64_t block = format.block_size == 0 ? kFourBitBlock : format.block_size;
  const int64_t scales = by_row ? shard.rows : CeilDivide(shard.rows * shard.columns, block);
  const int64_t bytes = format.double_quantization
                            ? kFp32Bytes * CeilDivide(scales, kScalesOfAScale) + scales
                            : kFp32Bytes * scales;
  return bytes * shard.copies;
}

}  // namespace sextant
