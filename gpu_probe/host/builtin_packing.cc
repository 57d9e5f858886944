#include "gpu_probe/host/builtin_packing.h"

#include <algorithm>

#include "gpu_probe/host/simd.h"

namespace sextant {
namespace {

// Rows and depth that are turned at once, in registers that every processor has.
constexpr int64_t kTurned = 4;
// Depth that is packed for all rows of a panel before the next: a cache line of each, so that
// what is written stays in the first-level cache until it is whole.
constexpr int64_t kLine = 16;

// Four rows, four deep.
void TurnFourByFour(const float* from, int64_t row_stride, int panel_width, float* to) {
  using Four = VectorOf<float, kBaseBytes>::Type;
  const auto row = [&](int64_t r) { return *reinterpret_cast<const Four*>(from + r * row_stride); };
  const auto put = [&](int64_t p, Four column) {
    *reinterpret_cast<Four*>(to + p * panel_width) = column;
  };
  // Depths 0 and 1 of two rows, then 2 and 3, each row's beside the other's.
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

}  // namespace

void PackPanels(const PackSource& source, int panel_width, float* to) {
  for (int64_t row = 0; row < source.row_count; row += panel_width) {
    PackPanel(source, row, panel_width, to);
    to += panel_width * source.depth;
  }
}

}  // namespace sextant
