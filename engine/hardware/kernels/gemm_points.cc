#include "engine/hardware/kernels/gemm_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace sextant {
namespace {

constexpr int64_t kAnchorRows[] = {1, 16, 64, 256, 1024, 4096, 8192};
constexpr int64_t kAnchorSizes[] = {1024, 4096, 16384};
constexpr int64_t kScatterRows[] = {128,  192,  224,  256,  257,  512, 513,
                                    1024, 1025, 2048, 2049, 4096, 4352};
constexpr int64_t kScatterSizes[] = {1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
constexpr int64_t kCheckRows[] = {32,  96,   97,   160,  193,  225,  768,
                                  769, 1280, 1792, 2304, 2561, 3329, 3584};
constexpr int64_t kCheckSizes[] = {1536, 2560, 3584, 5120, 7168, 10240, 12288};
constexpr double kGoldenRatio = 0.6180339887498949;

std::vector<GemmShape> Product(absl::Span<const int64_t> rows, absl::Span<const int64_t> sizes) {
  std::vector<GemmShape> out;
  for (const int64_t m : rows) {
    for (const int64_t n : sizes) {
      for (const int64_t k : sizes) out.push_back({m, n, k});
    }
  }
  return out;
}

// Every shape once, in steps of the golden ratio's share of the list or the next larger step that
// meets all.
std::vector<GemmShape> Walked(const std::vector<GemmShape>& shapes) {
  const size_t count = shapes.size();
  auto step = static_cast<size_t>(std::lround(kGoldenRatio * static_cast<double>(count)));
  while (std::gcd(step, count) != 1) ++step;
  std::vector<GemmShape> out;
  out.reserve(count);
  for (size_t i = 0, at = 0; i < count; ++i, at = (at + step) % count) out.push_back(shapes[at]);
  return out;
}

using Measured = absl::flat_hash_map<std::tuple<int64_t, int64_t, int64_t>, Seconds>;

std::vector<MeasuredGemm> FirstOf(const std::vector<GemmShape>& shapes, const Measured& measured,
                                  size_t most) {
  std::vector<MeasuredGemm> out;
  for (const GemmShape& shape : shapes) {
    if (out.size() == most) break;
    const auto found = measured.find({shape.m, shape.n, shape.k});
    if (found != measured.end()) out.push_back({shape, found->second});
  }
  return out;
}

}  // namespace

std::vector<GemmShape> GemmPointShapes() {
  std::vector<GemmShape> out = Product(kAnchorRows, kAnchorSizes);
  std::vector<GemmShape> scatter = Product(kScatterRows, kScatterSizes);
  std::erase_if(scatter, [&](const GemmShape& shape) {
    return std::find(out.begin(), out.end(), shape) != out.end();
  });
  for (const GemmShape& shape : Walked(scatter)) out.push_back(shape);
  return out;
}

std::vector<GemmShape> GemmCheckShapes() { return Walked(Product(kCheckRows, kCheckSizes)); }

void ChooseGemmPoints(absl::Span<const MeasuredGemm> measured, GemmCalibration& calibration) {
  Measured times;
  times.reserve(measured.size());
  for (const MeasuredGemm& gemm : measured) {
    if (gemm.shape.pass != GemmPass::kForward) continue;
    times.insert({{gemm.shape.m, gemm.shape.n, gemm.shape.k}, gemm.time});
  }
  calibration.points = FirstOf(GemmPointShapes(), times, kGemmPointCount);
  calibration.checks = FirstOf(GemmCheckShapes(), times, kGemmCheckCount);
}

}  // namespace sextant
