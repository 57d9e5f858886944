#include "gpu_probe/host/builtin_matmul.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// A tile fills the level's registers (16, or 32 for AVX-512 and NEON): the tile's own vectors, two
// for a row of B's panel, and one for an element of A's where it can't be read from memory.
template <int kBytes, int kRows>
SEXTANT_INLINE_BODY void Tile(const float* a_panel, const float* b_panel, int64_t k, float* tile) {
  using Vector = typename VectorOf<float, kBytes>::Type;
  constexpr int kLanes = VectorOf<float, kBytes>::kLaneCount;
  Vector low[kRows] = {};
  Vector high[kRows] = {};
  for (int64_t p = 0; p < k; ++p) {
    const auto* const b = reinterpret_cast<const Vector*>(b_panel + p * 2 * kLanes);
    const float* const a = a_panel + p * kRows;
    const Vector b_low = b[0];
    const Vector b_high = b[1];
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      low[r] += a[r] * b_low;
      high[r] += a[r] * b_high;
    }
  }
  auto* const to = reinterpret_cast<Vector*>(tile);
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    to[2 * r] = low[r];
    to[2 * r + 1] = high[r];
  }
}

constexpr int kBaseRows = kBaseHas32Registers ? 12 : 6;
constexpr int kAvx2Rows = 6;
constexpr int kAvx512Rows = 14;

void TileBase(const float* a_panel, const float* b_panel, int64_t k, float* tile) {
  Tile<kBaseBytes, kBaseRows>(a_panel, b_panel, k, tile);
}
SEXTANT_TARGET_AVX2 void TileAvx2(const float* a_panel, const float* b_panel, int64_t k,
                                  float* tile) {
  Tile<kAvx2Bytes, kAvx2Rows>(a_panel, b_panel, k, tile);
}
SEXTANT_TARGET_AVX512 void TileAvx512(const float* a_panel, const float* b_panel, int64_t k,
                                      float* tile) {
  Tile<kAvx512Bytes, kAvx512Rows>(a_panel, b_panel, k, tile);
}

// Rows and depths that are transposed at once, in registers that every processor has.
constexpr int64_t kTurned = 4;
// Depths that are packed for all rows of a panel before the next ones: a cache line of each row, so
// that output lines stay in the first-level cache until they are complete.
constexpr int64_t kLine = 16;

// Transposes four rows, four deep.
void TurnFourByFour(const float* from, int64_t row_stride, int panel_width, float* to) {
  using Four = VectorOf<float, kBaseBytes>::Type;
  const auto row = [&](int64_t r) { return *reinterpret_cast<const Four*>(from + r * row_stride); };
  const auto put = [&](int64_t p, Four column) {
    *reinterpret_cast<Four*>(to + p * panel_width) = column;
  };
  // Depths 0 and 1 of two rows, then 2 and 3; the two rows' elements are adjacent.
  const Four low01 = __builtin_shufflevector(row(0), row(1), 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(row(2), row(3), 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row(0), row(1), 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(row(2), row(3), 2, 6, 3, 7);
  put(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

// Rows [first_row, end_row) of a panel, depth [first_p, end_p).
struct Piece {
  int64_t first_row = 0;
  int64_t end_row = 0;
  int64_t first_p = 0;
  int64_t end_p = 0;
};

void PackPiece(const PackSource& source, const Piece& piece, int panel_width, float* panel) {
  int64_t r = piece.first_row;
  for (; r + kTurned <= piece.end_row; r += kTurned) {
    int64_t p = piece.first_p;
    float* const to = panel + r - piece.first_row;
    for (; p + kTurned <= piece.end_p; p += kTurned) {
      TurnFourByFour(source.data + r * source.row_stride + p, source.row_stride, panel_width,
                     to + p * panel_width);
    }
    for (; p < piece.end_p; ++p) {
      for (int64_t i = 0; i < kTurned; ++i) {
        to[p * panel_width + i] = source.data[(r + i) * source.row_stride + p];
      }
    }
  }
  for (; r < piece.end_row; ++r) {
    for (int64_t p = piece.first_p; p < piece.end_p; ++p) {
      panel[p * panel_width + r - piece.first_row] = source.data[r * source.row_stride + p];
    }
  }
}

void PackPanel(const PackSource& source, int64_t first_row, int panel_width, float* to) {
  const int64_t rows = std::min<int64_t>(panel_width, source.row_count - first_row);
  for (int64_t p = 0; p < source.depth; p += kLine) {
    PackPiece(source,
              {.first_row = first_row,
               .end_row = first_row + rows,
               .first_p = p,
               .end_p = std::min(p + kLine, source.depth)},
              panel_width, to);
  }
  for (int64_t p = 0; p < source.depth; ++p) {
    std::fill(to + p * panel_width + rows, to + (p + 1) * panel_width, 0.0F);
  }
}

// Depth of a packed panel: a panel of A and one of B stay in the first-level cache.
constexpr int64_t kDepth = 256;
// Rows of A packed at once: some 256 KiB, within the second-level cache.
constexpr int64_t kRowCount = 252;  // a multiple of 6 and 14
// Columns of B packed at once: 1 MiB, which stays in the last-level cache.
constexpr int64_t kColumnCount = 1024;

// A thread's packed panels, as floats from the start of its piece.
constexpr int64_t kPackedAFloats = kRowCount * kDepth;
constexpr int64_t kPackedBFloats = kColumnCount * kDepth;
constexpr int64_t kPackedFloats = kPackedAFloats + kPackedBFloats;

// A rectangle of C.
struct Rectangle {
  Part rows;
  Part columns;
};

// The product of one packed part of A and one of B, which is added to C.
struct Block {
  Rectangle of_c;
  int64_t depth = 0;
  bool first = false;  // the first depths: C is written, not added to
};

class BuiltinMatmul : public PreparedMatmul {
 public:
  BuiltinMatmul(const v1::MatmulShape& shape, const MicroKernel& kernel, ThreadTeam* team,
                std::shared_ptr<const Buffer> packed)
      : shape_(shape),
        kernel_(kernel),
        name_(kernel.name),
        team_(team),
        packed_(std::move(packed)) {}

  const std::string& kernel() const override { return name_; }

  absl::Status Run(const MatmulOperands& operands) override {
    team_->Run([&](int index) { Multiply(operands, RectangleOf(index), PackedOf(index)); });
    return absl::OkStatus();
  }

 private:
  float* PackedOf(int index) const { return packed_->As<float>() + index * kPackedFloats; }
  Rectangle RectangleOf(int index) const {
    const ThreadGrid grid = GridOf(shape_.m(), shape_.n(), team_->size());
    return {
        .rows = PartOf(shape_.m(), index / grid.column_count, grid.row_count, kernel_.row_count),
        .columns =
            PartOf(shape_.n(), index % grid.column_count, grid.column_count, kernel_.column_count)};
  }

  void Multiply(const MatmulOperands& operands, const Rectangle& own, float* packed) const {
    const auto* const a = static_cast<const float*>(operands.a);
    const auto* const b = static_cast<const float*>(operands.b);
    const int64_t k = shape_.k();
    for (int64_t j = own.columns.begin; j < own.columns.end; j += kColumnCount) {
      const Part columns = {j, std::min(j + kColumnCount, own.columns.end)};
      for (int64_t p = 0; p < k; p += kDepth) {
        const int64_t depth = std::min(kDepth, k - p);
        PackPanels({b + j * k + p, k, columns.end - columns.begin, depth}, kernel_.column_count,
                   packed + kPackedAFloats);
        for (int64_t i = own.rows.begin; i < own.rows.end; i += kRowCount) {
          const Part rows = {i, std::min(i + kRowCount, own.rows.end)};
          PackPanels({a + i * k + p, k, rows.end - rows.begin, depth}, kernel_.row_count, packed);
          MultiplyBlock({{rows, columns}, depth, p == 0}, packed, static_cast<float*>(operands.c));
        }
      }
    }
  }

  // C's block += packed A times packed B; at the first depths the product replaces it.
  void MultiplyBlock(const Block& block, const float* packed, float* c) const {
    const auto& [rows, columns] = block.of_c;
    alignas(64) std::array<float, kMaxTileElementCount> tile;
    const float* b_panel = packed + kPackedAFloats;
    for (int64_t j = columns.begin; j < columns.end; j += kernel_.column_count) {
      const float* a_panel = packed;
      for (int64_t i = rows.begin; i < rows.end; i += kernel_.row_count) {
        kernel_.run(a_panel, b_panel, block.depth, tile.data());
        Write(tile.data(),
              {.rows = {i, std::min(i + kernel_.row_count, rows.end)},
               .columns = {j, std::min(j + kernel_.column_count, columns.end)}},
              block.first, c);
        a_panel += kernel_.row_count * block.depth;
      }
      b_panel += kernel_.column_count * block.depth;
    }
  }

  void Write(const float* tile, const Rectangle& to, bool first, float* c) const {
    for (int64_t i = to.rows.begin; i < to.rows.end; ++i, tile += kernel_.column_count) {
      float* const row = c + i * shape_.n();
      const float* from = tile;
      if (first) {
        std::copy(from, from + (to.columns.end - to.columns.begin), row + to.columns.begin);
        continue;
      }
      for (int64_t j = to.columns.begin; j < to.columns.end; ++j) row[j] += *from++;
    }
  }

  const v1::MatmulShape shape_;
  const MicroKernel kernel_;
  const std::string name_;
  ThreadTeam* const team_;
  const std::shared_ptr<const Buffer> packed_;
};

}  // namespace

MicroKernel MicroKernelOf(SimdLevel level) {
  return KernelsByLevel<MicroKernel>{
      .base = {kBaseHas32Registers ? SEXTANT_BASE " 12x8" : SEXTANT_BASE " 6x8", kBaseRows, 8,
               TileBase},
      .avx2 = {"avx2 fma 6x16", kAvx2Rows, 16, TileAvx2},
      .avx512 = {"avx512f 14x32", kAvx512Rows, 32, TileAvx512}}
      .At(level);
}

void PackPanels(const PackSource& source, int panel_width, float* to) {
  for (int64_t row = 0; row < source.row_count; row += panel_width) {
    PackPanel(source, row, panel_width, to);
    to += panel_width * source.depth;
  }
}

BuiltinEngine::BuiltinEngine(SimdLevel level, ThreadTeam* team, MemoryBudget* memory)
    : kernel_(MicroKernelOf(level)), team_(team), memory_(memory) {}

absl::StatusOr<std::unique_ptr<PreparedMatmul>> BuiltinEngine::Prepare(
    const v1::MatmulShape& shape) {
  if (shape.data_type() != v1::DATA_TYPE_FP32) {
    return absl::UnimplementedError(absl::StrCat("the built-in kernels multiply FP32 alone, not ",
                                                 v1::DataType_Name(shape.data_type()),
                                                 ": install oneDNN (libdnnl)"));
  }
  std::shared_ptr<const Buffer> packed = packed_.lock();
  if (packed == nullptr) {
    const int64_t bytes = team_->size() * kPackedFloats * static_cast<int64_t>(sizeof(float));
    SEXTANT_ASSIGN_OR_RETURN(Buffer allocated, memory_->Allocate(bytes));
    packed = std::make_shared<const Buffer>(std::move(allocated));
    packed_ = packed;
  }
  return std::make_unique<BuiltinMatmul>(shape, kernel_, team_, std::move(packed));
}

ThreadGrid GridOf(int64_t m, int64_t n, int thread_count) {
  ThreadGrid best = {.row_count = thread_count, .column_count = 1};
  double best_packed = 0;
  for (int rows = 1; rows <= thread_count; ++rows) {
    if (thread_count % rows != 0) continue;
    const int columns = thread_count / rows;
    const double packed =
        static_cast<double>(CeilDivide(m, rows)) + static_cast<double>(CeilDivide(n, columns));
    if (best_packed == 0 || packed < best_packed) {
      best = {.row_count = rows, .column_count = columns};
      best_packed = packed;
    }
  }
  return best;
}

}  // namespace sextant::probe
