#include "tests/engine/hardware/kernels/made_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <tuple>

#include "engine/base/matmul_grid.h"

namespace sextant {
namespace {

std::vector<MatmulShape> ShapesOf(const std::vector<MatmulSize>& sizes) {
  std::vector<MatmulShape> out;
  out.reserve(sizes.size());
  for (const MatmulSize& size : sizes) out.push_back({size.m, size.n, size.k});
  return out;
}

using TimesByShape = std::map<std::tuple<int64_t, int64_t, int64_t>, Seconds>;

std::vector<MatmulPoint> FirstOf(const std::vector<MatmulShape>& shapes,
                                 const TimesByShape& measured, size_t most) {
  std::vector<MatmulPoint> out;
  for (const MatmulShape& shape : shapes) {
    if (out.size() == most) break;
    const auto found = measured.find({shape.m, shape.n, shape.k});
    if (found != measured.end()) out.push_back({shape, found->second});
  }
  return out;
}

constexpr int64_t kUnits = 100;

double MemorySeconds(const MatmulShape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return 2 * (m * k + n * k + m * n) / 3e12;
}

constexpr int64_t kMebi = int64_t{1} << 20;

// Key by key, of queries first to last.
double PairsOfTile(const AttentionShape& shape, WindowForm form, int64_t first, int64_t last) {
  double out = 0;
  for (int64_t query = first; query <= last; ++query) {
    if (!shape.causal) {
      out += static_cast<double>(shape.sequence);
      continue;
    }
    int64_t keys = query + 1;
    if (shape.window > 0) {
      keys = form == WindowForm::kChunked ? query % shape.window + 1 : std::min(keys, shape.window);
    }
    out += static_cast<double>(keys);
  }
  return out;
}

}  // namespace

std::vector<MatmulShape> MatmulPointShapes() { return ShapesOf(MatmulGridPoints()); }

std::vector<MatmulShape> MatmulCheckShapes() { return ShapesOf(MatmulGridChecks()); }

void ChooseMatmulPoints(absl::Span<const MatmulPoint> measured, MatmulCalibration& calibration) {
  TimesByShape times;
  for (const MatmulPoint& matmul : measured) {
    if (matmul.shape.pass != MatmulPass::kForward) continue;
    times.insert({{matmul.shape.m, matmul.shape.n, matmul.shape.k}, matmul.time});
  }
  calibration.points = FirstOf(MatmulPointShapes(), times, kMatmulPointCount);
  calibration.checks = FirstOf(MatmulCheckShapes(), times, kMatmulCheckCount);
}

double AddedSeconds(const MatmulShape& shape) {
  return MatmulFlops(shape).value() / 1e15 + MemorySeconds(shape) + 4e-6;
}

double WavesSeconds(const MatmulShape& shape) {
  const double tiles =
      std::ceil(static_cast<double>(shape.m) / 128) * std::ceil(static_cast<double>(shape.n) / 256);
  const double tile_seconds = 2.0 * 128 * 256 * static_cast<double>(shape.k) / (1e15 / kUnits);
  return std::ceil(tiles / kUnits) * tile_seconds + MemorySeconds(shape) + 4e-6;
}

MatmulCalibration MadeMatmuls(const MatmulLaw& law) {
  std::vector<MatmulPoint> all;
  for (const auto& shapes : {MatmulPointShapes(), MatmulCheckShapes()}) {
    for (const MatmulShape& shape : shapes) all.push_back({shape, Seconds(law(shape))});
  }
  MatmulCalibration out = {.type = {DataType::kBf16, MatmulScaling::kNone},
                           .compute_units = kUnits};
  ChooseMatmulPoints(all, out);
  return out;
}

std::vector<MatmulPoint> EvenMatmuls() {
  std::vector<MatmulPoint> out;
  for (const int64_t m : {16, 128, 1024, 4096}) {
    for (const int64_t n : {1024, 4096, 16384}) {
      for (const int64_t k : {1024, 4096, 16384}) {
        const MatmulShape shape = {m, n, k};
        out.push_back({shape, Seconds(1e-5 + MatmulFlops(shape).value() / 1e12)});
      }
    }
  }
  return out;
}

std::vector<MatmulShape> RandomMatmuls(uint64_t seed, int count, double from, double to) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(from, to);
  const auto draw = [&] { return static_cast<int64_t>(std::exp2(exponent(random))); };
  std::vector<MatmulShape> out;
  for (int i = 0; i < count; ++i) out.push_back({draw(), draw(), draw()});
  return out;
}

bool IsSound(const KernelTime& time) {
  return std::isfinite(time.high.value()) && time.low.value() > 0 && time.low <= time.expected &&
         time.expected <= time.high;
}

double PlainSeconds(const StreamWork& work) {
  const double memory = work.read_bytes / 3e12 + work.written_bytes / 2.5e12;
  return std::max(2e-6, std::cbrt(std::pow(memory, 3) + std::pow(work.flops / 4e13, 3)));
}

StreamCalibration MadePasses(const PassLaw& law, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto noisy = [&](double seconds) {
    return Seconds(seconds * std::max(0.2, 1 + noise * normal(random)));
  };
  StreamCalibration out;
  const auto pass = [&](StreamPattern pattern, int64_t bytes) {
    MeasuredStream stream = {pattern, bytes, bytes >= 1024 * kMebi, Seconds(1)};
    stream.time = noisy(law(WorkOf(stream)));
    out.streams.push_back(stream);
  };
  for (const StreamPattern pattern : {StreamPattern::kRead, StreamPattern::kWrite,
                                      StreamPattern::kScale, StreamPattern::kTriad}) {
    pass(pattern, 1024 * kMebi);
  }
  for (int64_t bytes = kMebi / 16; bytes <= 1024 * kMebi; bytes *= 4) {
    pass(StreamPattern::kCopy, bytes);
  }
  for (int64_t steps = 1; steps <= 128; steps *= 2) {
    MeasuredElementwise step = {steps, 256 * kMebi, Seconds(1)};
    step.time = noisy(law(WorkOf(step)));
    out.ladder.push_back(step);
  }
  return out;
}

double SimulatedSeconds(const AttentionShape& shape, const SimulatedKernel& kernel) {
  const auto head_size = static_cast<double>(shape.query_key_head_size + shape.value_head_size) / 2;
  std::vector<double> tiles;
  for (int64_t first = 0; first < shape.sequence; first += kernel.query_tile) {
    const int64_t last = std::min(first + kernel.query_tile, shape.sequence) - 1;
    tiles.push_back(PairsOfTile(shape, kernel.window, first, last) * head_size *
                    kernel.seconds_per_pair);
  }
  std::sort(tiles.begin(), tiles.end(), std::greater<>());
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at(
      std::greater<>(), std::vector<double>(static_cast<size_t>(kernel.units), 0.0));
  double end = 0;
  for (const double tile : tiles) {
    for (int64_t head = 0; head < shape.batch * shape.heads; ++head) {
      const double done = free_at.top() + tile;
      free_at.pop();
      free_at.push(done);
      end = std::max(end, done);
    }
  }
  return kernel.launch + end + kernel.seconds_per_element * AttentionElements(shape);
}

std::vector<AttentionPoint> SimulatedPoints(const AttentionShape& like,
                                            const SimulatedKernel& kernel) {
  std::vector<AttentionPoint> out;
  for (const int64_t sequence : {1024, 2048, 4096, 8192, 16384}) {
    for (const int64_t heads : {4, 16, 32, 64, 256}) {
      AttentionShape shape = like;
      shape.sequence = sequence;
      shape.heads = std::min<int64_t>(heads, 32);
      shape.batch = heads / shape.heads;
      shape.key_value_heads = out.size() % 2 == 0 ? shape.heads : shape.heads / 4;
      out.push_back({.shape = shape, .time = Seconds(SimulatedSeconds(shape, kernel))});
    }
  }
  return out;
}

}  // namespace sextant
