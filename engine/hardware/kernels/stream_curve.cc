#include "engine/hardware/kernels/stream_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "engine/hardware/kernels/ceiling_time.h"

namespace sextant {
namespace {

constexpr double kSame = 1e-9;  // for shares, and for logarithms of bytes

struct Pass {
  bool main_memory = false;
  double share = 0.5;
  double log_bytes = 0;
  double log_seconds = 0;
};

std::vector<Pass> PassesOf(absl::Span<const MeasuredStream> streams) {
  std::vector<Pass> out;
  for (const MeasuredStream& stream : streams) {
    const StreamWork work = WorkOf(stream);
    out.push_back({.main_memory = stream.main_memory,
                   .share = work.read_share(),
                   .log_bytes = std::log(work.bytes()),
                   .log_seconds = std::log(stream.time.value())});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Pass& x, const Pass& y) { return x.log_bytes < y.log_bytes; });
  return out;
}

// The most frequent share among the main memory passes; on a tie the nearest to a copy's.
double UsualShare(const std::vector<Pass>& passes) {
  const auto count = [&passes](double share) {
    return std::count_if(passes.begin(), passes.end(),
                         [share](const Pass& p) { return std::abs(p.share - share) < kSame; });
  };
  double best = -1;
  for (const Pass& pass : passes) {
    if (!pass.main_memory) continue;
    const auto more = count(pass.share) - count(best);
    if (more > 0 || (more == 0 && std::abs(pass.share - 0.5) < std::abs(best - 0.5))) {
      best = pass.share;
    }
  }
  return best;
}

// Sizes whose times decreased with size, merged into their mean.
struct Block {
  double sum = 0;
  size_t count = 0;
  double mean() const { return sum / static_cast<double>(count); }
};

// Enforces that more bytes never take less time: isotonic regression of the logarithms of times by
// pooling adjacent violators (Ayer et al. 1955, Ann. Math. Stat. 26(4); from memory).
void MakeAscending(absl::Span<StreamSize> sizes) {
  std::vector<Block> blocks;
  for (const StreamSize& size : sizes) {
    blocks.push_back({size.log_seconds, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  size_t i = 0;
  for (const Block& block : blocks) {
    for (size_t k = 0; k < block.count; ++k) sizes[i++].log_seconds = block.mean();
  }
}

void SetSizes(const std::vector<Pass>& passes, double share, StreamCurve& out) {
  std::vector<Block> times;
  for (const Pass& pass : passes) {
    if (std::abs(pass.share - share) >= kSame) continue;
    if (out.sizes.empty() || pass.log_bytes - out.sizes.back().log_bytes > kSame) {
      out.sizes.push_back({pass.log_bytes, 0});
      times.push_back({});
    }
    times.back().sum += pass.log_seconds;
    ++times.back().count;
    out.sizes.back().log_seconds = times.back().mean();
  }
  MakeAscending(absl::MakeSpan(out.sizes));
}

// The rate falls between the largest pass that fits a cache and the smallest that fits none. It
// has reached main memory's at `log_bytes`.
void EndCaches(const std::vector<Pass>& passes, double log_bytes, StreamCurve& out) {
  const auto memory =
      std::find_if(passes.begin(), passes.end(), [](const Pass& pass) { return pass.main_memory; });
  const auto first = std::find_if(out.sizes.begin(), out.sizes.end(), [&](const StreamSize& size) {
    return size.log_bytes > std::max(log_bytes, memory->log_bytes - kSame);
  });
  if (first == out.sizes.begin() || first == out.sizes.end()) return;
  const double log_seconds = first->log_seconds + log_bytes - first->log_bytes;
  const StreamSize& before = *(first - 1);
  if (before.log_bytes >= log_bytes || before.log_seconds >= log_seconds) return;
  out.sizes.insert(first, {log_bytes, log_seconds});
}

void SetMixes(std::vector<Pass> passes, double usual, StreamCurve& out) {
  std::stable_sort(passes.begin(), passes.end(),
                   [](const Pass& x, const Pass& y) { return x.share < y.share; });
  out.mixes.push_back({usual, 1});
  std::vector<StreamMix> mixes;
  std::vector<Block> ratios;
  for (const Pass& pass : passes) {
    if (!pass.main_memory) continue;
    if (mixes.empty() || pass.share - mixes.back().read_share > kSame) {
      mixes.push_back({pass.share, 1});
      ratios.push_back({});
    }
    if (std::abs(pass.share - usual) < kSame) continue;
    ratios.back().sum +=
        pass.log_seconds - std::log(out.SecondsAt(std::exp(pass.log_bytes), usual));
    ++ratios.back().count;
    mixes.back().ratio = std::exp(ratios.back().mean());
  }
  out.mixes.assign(mixes.begin(), mixes.end());
}

double AlongLine(double low, double high, double share) { return low + (high - low) * share; }

double SizeSeconds(const StreamCurve& curve, double bytes) {
  if (bytes <= 0) return curve.floor_seconds;
  if (bytes <= curve.smallest_bytes) {
    return AlongLine(curve.floor_seconds, curve.shortest_seconds, bytes / curve.smallest_bytes);
  }
  if (bytes >= curve.largest_bytes) return curve.longest_seconds * (bytes / curve.largest_bytes);
  const double at = std::log(bytes);
  size_t i = 1;
  while (i + 1 < curve.sizes.size() && curve.sizes[i].log_bytes < at) ++i;
  const StreamSize& low = curve.sizes[i - 1];
  const StreamSize& high = curve.sizes[i];
  return std::exp(AlongLine(low.log_seconds, high.log_seconds,
                            (at - low.log_bytes) / (high.log_bytes - low.log_bytes)));
}

double MixRatio(const StreamCurve& curve, double share) {
  if (share <= curve.mixes.front().read_share) return curve.mixes.front().ratio;
  if (share >= curve.mixes.back().read_share) return curve.mixes.back().ratio;
  size_t i = 1;
  while (curve.mixes[i].read_share < share) ++i;
  const StreamMix& low = curve.mixes[i - 1];
  const StreamMix& high = curve.mixes[i];
  return AlongLine(low.ratio, high.ratio,
                   (share - low.read_share) / (high.read_share - low.read_share));
}

}  // namespace

void StreamCurve::SetEnds(Seconds floor) {
  smallest_bytes = std::exp(sizes.front().log_bytes);
  shortest_seconds = std::exp(sizes.front().log_seconds);
  largest_bytes = std::exp(sizes.back().log_bytes);
  longest_seconds = std::exp(sizes.back().log_seconds);
  floor_seconds = std::min(floor.value(), shortest_seconds);
}

double StreamCurve::SecondsAt(double bytes, double read_share) const {
  return SizeSeconds(*this, bytes) * MixRatio(*this, read_share);
}

StreamCurve FitStreams(const StreamCalibration& calibration) {
  const std::vector<Pass> passes = PassesOf(calibration.streams);
  const double usual = UsualShare(passes);
  StreamCurve out;
  SetSizes(passes, usual, out);
  if (calibration.cache_bytes.has_value()) {
    EndCaches(passes, std::log(kCachesOutgrown * *calibration.cache_bytes), out);
  }
  out.SetEnds(calibration.processor ? kProcessorFloor : kUnmeasuredFloor);
  SetMixes(passes, usual, out);
  return out;
}

StreamLack LackAt(const StreamCurve& curve, double bytes, double read_share) {
  const double smallest = curve.smallest_bytes;
  const double low = curve.mixes.front().read_share;
  const double high = curve.mixes.back().read_share;
  const double at = std::clamp(read_share, low, high);
  // exp() and log() of a measured size may differ in the last digit.
  const double below =
      bytes < smallest * (1 - kSame) ? std::log2(smallest / std::max(bytes, 1.0)) : 0;
  return {.octaves_below = below, .share_outside = std::abs(read_share - at)};
}

}  // namespace sextant
