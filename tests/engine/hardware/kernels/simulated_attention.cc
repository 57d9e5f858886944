#include "tests/engine/hardware/kernels/simulated_attention.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace sextant {
namespace {

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
