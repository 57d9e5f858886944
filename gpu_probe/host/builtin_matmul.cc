#include "gpu_probe/host/builtin_matmul.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/builtin_packing.h"

namespace sextant {
namespace {

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

// What one packed part of A and one of B add to C.
struct Block {
  Rectangle of_c;
  int64_t depth = 0;
  bool first = false;  // of the depths
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
  Rectangle RectangleOf(int index) const;
  void Multiply(const MatmulOperands& operands, const Rectangle& own, float* packed) const;
  // C's block += packed A times packed B; the first depth's product takes its place instead.
  void MultiplyBlock(const Block& block, const float* packed, float* c) const;
  void Write(const float* tile, const Rectangle& to, bool first, float* c) const;

  const v1::MatmulShape shape_;
  const MicroKernel kernel_;
  const std::string name_;
  ThreadTeam* const team_;
  const std::shared_ptr<const Buffer> packed_;
};

Rectangle BuiltinMatmul::RectangleOf(int index) const {
  const ThreadGrid grid = GridOf(shape_.m(), shape_.n(), team_->size());
  return {.rows = PartOf(shape_.m(), index / grid.column_count, grid.row_count, kernel_.row_count),
          .columns = PartOf(shape_.n(), index % grid.column_count, grid.column_count,
                            kernel_.column_count)};
}

void BuiltinMatmul::Multiply(const MatmulOperands& operands, const Rectangle& own,
                             float* packed) const {
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

void BuiltinMatmul::MultiplyBlock(const Block& block, const float* packed, float* c) const {
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

void BuiltinMatmul::Write(const float* tile, const Rectangle& to, bool first, float* c) const {
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

}  // namespace

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

}  // namespace sextant
