#include "gpu_probe/host/matmul_grid.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sextant {
namespace {

v1::MatmulShape Shape(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::MatmulShape out;
  out.set_data_type(type);
  out.set_m(m);
  out.set_n(n);
  out.set_k(k);
  return out;
}

constexpr int64_t kFirstRows = 512;
constexpr int64_t kFirstOthers = 1024;

// All but the first shape, which is measured apart.
std::vector<v1::MatmulShape> Grid(v1::DataType type, const std::vector<int64_t>& rows,
                                  const std::vector<int64_t>& others) {
  std::vector<v1::MatmulShape> out;
  for (const int64_t m : rows) {
    for (const int64_t n : others) {
      for (const int64_t k : others) {
        if (m == kFirstRows && n == kFirstOthers && k == kFirstOthers) continue;
        out.push_back(Shape(type, m, n, k));
      }
    }
  }
  return out;
}

// What a few cores get through in their share of five seconds, eight times.
std::vector<v1::MatmulShape> StandardGrid(v1::DataType type) {
  std::vector<v1::MatmulShape> out;
  for (v1::MatmulShape& shape : Grid(type, {16, 128, 512}, {256, 1024, 2048})) {
    const bool far_apart =
        std::max(shape.n(), shape.k()) == 2048 && std::min(shape.n(), shape.k()) != kFirstOthers;
    if (!far_apart) out.push_back(std::move(shape));
  }
  return out;
}

}  // namespace

v1::MatmulShape FirstShape(v1::DataType type) {
  return Shape(type, kFirstRows, kFirstOthers, kFirstOthers);
}

std::vector<v1::MatmulShape> GridShapes(v1::ProbeMode mode, v1::DataType type) {
  switch (mode) {
    case v1::PROBE_MODE_QUICK:
      return {};
    case v1::PROBE_MODE_FULL: {
      auto shapes = Grid(type, {16, 128, 512, 2048}, {256, 1024, 4096});
      shapes.push_back(Shape(type, 1024, 3072, 768));   // GPT-2: up to the inner layer
      shapes.push_back(Shape(type, 1024, 768, 3072));   // and down
      shapes.push_back(Shape(type, 256, 6144, 4096));   // Llama-3-8B: query, key and value
      shapes.push_back(Shape(type, 256, 14336, 4096));  // up
      shapes.push_back(Shape(type, 256, 4096, 14336));  // down
      shapes.push_back(Shape(type, 1025, 4096, 4096));  // one row more than fits
      return shapes;
    }
    default:
      return StandardGrid(type);
  }
}

absl::optional<v1::MatmulShape> SustainedShape(v1::ProbeMode mode, v1::DataType type) {
  if (mode != v1::PROBE_MODE_FULL) return absl::nullopt;
  return Shape(type, 2048, 2048, 2048);
}

}  // namespace sextant
