#include "engine/hardware/kernels/stream_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/ceiling_time.h"

namespace sextant {
namespace {

// No kernel overlaps worse than 1 or visibly better than 8.
constexpr double kSoftest = 1;
constexpr double kHardest = 8;
constexpr double kSoftnessStep = 0.25;

// t^a = x + y w^a, both at least 0.
struct LadderTerms {
  double memory = 0;   // x
  double compute = 0;  // y
};

// Per byte: arrays of any size form one ladder.
struct LadderStep {
  double seconds = 0;
  double flops = 0;
};

// Normalised by the means, so that no power overflows.
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

// Least squares of 1 - (x + y w^a) / t^a. Negative terms become 0.
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

constexpr double kMaxWork = 1e30;
// A pass long enough that its floor is negligible, for curves made from rates.
constexpr double kLongPassBytes = 1e12;

StreamWork Limited(const StreamWork& work) {
  return {.read_bytes = std::clamp(work.read_bytes, 0.0, kMaxWork),
          .written_bytes = std::clamp(work.written_bytes, 0.0, kMaxWork),
          .flops = std::clamp(work.flops, 0.0, kMaxWork)};
}

// Above the largest pass the rate is that of main memory, which was measured.
bool LiesAround(const StreamCurve& curve, const StreamWork& work) {
  const StreamLack lack = LackAt(curve, work.bytes(), work.read_share());
  return lack.octaves_below == 0 && lack.share_outside == 0;
}

bool HasMainMemory(const StreamCalibration& calibration) {
  return std::any_of(calibration.streams.begin(), calibration.streams.end(),
                     [](const MeasuredStream& s) { return s.main_memory; });
}

double PassDistance(const StreamWork& x, const StreamWork& y) {
  const double size = std::log2(std::max(x.bytes(), 1.0) / std::max(y.bytes(), 1.0));
  const double mix = 4 * (x.read_share() - y.read_share());
  const double intensity = std::log2((1 + x.flops / std::max(x.bytes(), 1.0)) /
                                     (1 + y.flops / std::max(y.bytes(), 1.0)));
  return std::sqrt(size * size + mix * mix + intensity * intensity);
}

}  // namespace

// Normalised by the larger one, so that no power overflows.
StreamArithmetic::Joined StreamArithmetic::Join(double memory_seconds, double flops) const {
  const double compute = flops * seconds_per_flop;
  if (compute == 0) return {.seconds = memory_seconds};
  const double larger = std::max(memory_seconds, compute);
  const double m = std::pow(memory_seconds / larger, softness);
  const double c = std::pow(compute / larger, softness);
  return {larger * std::pow(m + c, 1 / softness), c / (m + c)};
}

absl::optional<StreamArithmetic> FitLadder(absl::Span<const MeasuredElementwise> measured) {
  if (measured.size() < kMinLadderSteps) return absl::nullopt;
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

StreamModel StreamModel::Fit(const StreamCalibration& calibration) {
  StreamModel out;
  out.curve_ = FitStreams(calibration);
  if (const auto ladder = FitLadder(calibration.ladder); ladder.has_value()) {
    out.arithmetic_ = *ladder;
  } else if (calibration.arithmetic.has_value()) {
    out.arithmetic_.seconds_per_flop = 1 / calibration.arithmetic->value();
  }
  return out;
}

PredictionError StreamModel::CrossValidatePasses(const StreamCalibration& calibration) {
  std::vector<double> ratios;
  for (size_t i = 0; i < calibration.streams.size(); ++i) {
    StreamCalibration others = calibration;
    others.streams.erase(others.streams.begin() + static_cast<ptrdiff_t>(i));
    if (!HasMainMemory(others)) continue;
    const StreamModel model = Fit(others);
    const StreamWork work = WorkOf(calibration.streams[i]);
    if (!LiesAround(model.curve_, work)) continue;
    ratios.push_back(calibration.streams[i].time.value() / model.SecondsAt(work));
  }
  for (size_t i = 0; i < calibration.ladder.size(); ++i) {
    StreamCalibration others = calibration;
    others.ladder.erase(others.ladder.begin() + static_cast<ptrdiff_t>(i));
    const StreamModel model = Fit(others);
    if (model.arithmetic_.seconds_per_flop == 0) continue;
    ratios.push_back(calibration.ladder[i].time.value() /
                     model.SecondsAt(WorkOf(calibration.ladder[i])));
  }
  return ratios.size() < kMinPasses ? StreamFallbacks::kUntried : ErrorOf(std::move(ratios));
}

absl::StatusOr<StreamModel> StreamModel::Of(const StreamCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckStreamCalibration(calibration));
  StreamModel out = Fit(calibration);
  out.error_ = CrossValidatePasses(calibration);
  out.processor_ = calibration.processor;
  out.measured_ = calibration;
  return out;
}

StreamModel StreamModel::OfRates(const StreamRates& rates) {
  StreamModel out;
  const double floor = kUnmeasuredFloor.value();
  const double seconds = floor + kLongPassBytes / rates.memory.value();
  out.curve_.sizes.push_back({std::log(kLongPassBytes), std::log(seconds)});
  out.curve_.mixes.push_back({0.5, 1});
  out.curve_.SetEnds(kUnmeasuredFloor);
  if (rates.arithmetic.has_value()) {
    out.arithmetic_.seconds_per_flop = 1 / rates.arithmetic->value();
  }
  out.error_ = rates.error;
  out.basis_ = KernelBasis::kDatasheet;
  return out;
}

double StreamModel::SecondsAt(const StreamWork& work) const {
  return arithmetic_.Join(curve_.SecondsAt(work.bytes(), work.read_share()), work.flops).seconds;
}

KernelTime StreamModel::Predict(const StreamWork& asked, StreamKind kind) const {
  const StreamWork work = Limited(asked);
  const StreamArithmetic::Joined joined =
      arithmetic_.Join(curve_.SecondsAt(work.bytes(), work.read_share()), work.flops);
  Widening widening;
  if (work.flops > 0) {
    widening = arithmetic_.seconds_per_flop == 0
                   ? StreamFallbacks::kNoArithmetic
                   : Power(StreamFallbacks::kArithmetic, joined.compute_share);
  }
  KernelBasis basis = basis_;
  // For rates, their own error covers this.
  if (basis_ != KernelBasis::kDatasheet) {
    const StreamLack lack = LackAt(curve_, work.bytes(), work.read_share());
    const Widening mix =
        processor_ ? StreamFallbacks::kOtherMixOfProcessor : StreamFallbacks::kOtherMix;
    widening = widening * Power(mix, 2 * lack.share_outside) *
               Power(StreamFallbacks::kSmaller,
                     std::min(lack.octaves_below, StreamFallbacks::kMaxOctaves));
    if (lack.octaves_below > 0 || lack.share_outside > 0) basis = KernelBasis::kOutsideGrid;
  }
  if (kind == StreamKind::kElementwise) return TimeWithin(joined.seconds, error_, widening, basis);
  return TimeWithin(joined.seconds * StreamFallbacks::kRowsOverPass, error_,
                    widening * StreamFallbacks::kRows, basis);
}

std::vector<NearbyPass> StreamModel::Nearest(const StreamWork& work, size_t most) const {
  std::vector<std::pair<double, NearbyPass>> all;
  const auto add = [&](const StreamWork& measured, Seconds time) {
    all.push_back({PassDistance(work, measured), {measured, time}});
  };
  for (const MeasuredStream& stream : measured_.streams) add(WorkOf(stream), stream.time);
  for (const MeasuredElementwise& step : measured_.ladder) add(WorkOf(step), step.time);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<NearbyPass> out;
  for (size_t i = 0; i < std::min(most, all.size()); ++i) out.push_back(all[i].second);
  return out;
}

}  // namespace sextant
