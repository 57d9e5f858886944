#include "engine/hardware/kernels/stream_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sextant {
namespace {

// No kernel hides worse than 1 or visibly better than 8.
constexpr double kSoftest = 1;
constexpr double kHardest = 8;
constexpr double kSoftnessStep = 0.25;

// t^a = x + y w^a, both at least 0.
struct LadderTerms {
  double memory = 0;   // x
  double compute = 0;  // y
};

// Of a byte: arrays of any size are one ladder.
struct LadderStep {
  double seconds = 0;
  double flops = 0;
};

// Over the means of all, so that no power overflows.
struct Ladder {
  std::vector<LadderStep> steps;
  LadderStep mean;
};

Ladder LadderOf(absl::Span<const MeasuredElementwise> measured) {
  Ladder out;
  double log_seconds = 0, log_flops = 0;
  for (const MeasuredElementwise& each : measured) {
    const StreamWork work = WorkOf(each);
    out.steps.push_back({each.time.value() / work.bytes(), work.flops / work.bytes()});
    log_seconds += std::log(out.steps.back().seconds);
    log_flops += std::log(out.steps.back().flops);
  }
  const auto count = static_cast<double>(out.steps.size());
  out.mean = {std::exp(log_seconds / count), std::exp(log_flops / count)};
  for (LadderStep& step : out.steps) {
    step = {step.seconds / out.mean.seconds, step.flops / out.mean.flops};
  }
  return out;
}

// Least squares of 1 - (x + y w^a) / t^a. A term that would be below 0 is 0.
LadderTerms TermsAt(double a, absl::Span<const LadderStep> steps) {
  double pp = 0, pq = 0, qq = 0, p1 = 0, q1 = 0;
  for (const LadderStep& step : steps) {
    const double p = std::pow(step.seconds, -a);
    const double q = std::pow(step.flops / step.seconds, a);
    pp += p * p;
    pq += p * q;
    qq += q * q;
    p1 += p;
    q1 += q;
  }
  const double determinant = pp * qq - pq * pq;
  if (determinant <= 0) return {p1 / pp, 0};
  const LadderTerms both = {(p1 * qq - q1 * pq) / determinant, (q1 * pp - p1 * pq) / determinant};
  if (both.memory < 0) return {0, q1 / qq};
  if (both.compute < 0) return {p1 / pp, 0};
  return both;
}

double ErrorAt(double a, const LadderTerms& terms, absl::Span<const LadderStep> steps) {
  double sum = 0;
  for (const LadderStep& step : steps) {
    const double predicted =
        std::pow(terms.memory + terms.compute * std::pow(step.flops, a), 1 / a);
    sum += std::abs(std::log(predicted / step.seconds));
  }
  return sum;
}

}  // namespace

// Divided by the larger first, so that no power overflows.
StreamArithmetic::Joined StreamArithmetic::Join(double memory_seconds, double flops) const {
  const double compute = flops * seconds_per_flop;
  const double larger = std::max(memory_seconds, compute);
  const double m = std::pow(memory_seconds / larger, softness);
  const double c = std::pow(compute / larger, softness);
  return {larger * std::pow(m + c, 1 / softness), c / (m + c)};
}

absl::optional<StreamArithmetic> FitLadder(absl::Span<const MeasuredElementwise> measured) {
  if (measured.size() < kFewestLadderSteps) return absl::nullopt;
  const Ladder ladder = LadderOf(measured);
  absl::optional<StreamArithmetic> out;
  double least = std::numeric_limits<double>::infinity();
  for (double a = kSoftest; a <= kHardest; a += kSoftnessStep) {
    const LadderTerms terms = TermsAt(a, ladder.steps);
    const double error = ErrorAt(a, terms, ladder.steps);
    if (terms.compute <= 0 || error >= least) continue;
    least = error;
    const double seconds_per_flop =
        std::pow(terms.compute, 1 / a) * ladder.mean.seconds / ladder.mean.flops;
    out = StreamArithmetic{.seconds_per_flop = seconds_per_flop, .softness = a};
  }
  return out;
}

}  // namespace sextant
