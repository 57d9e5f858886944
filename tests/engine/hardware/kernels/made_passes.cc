#include "tests/engine/hardware/kernels/made_passes.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace sextant {
namespace {

constexpr int64_t kMebi = int64_t{1} << 20;

}  // namespace

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

}  // namespace sextant
