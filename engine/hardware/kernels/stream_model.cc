#include "engine/hardware/kernels/stream_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/roof_time.h"

namespace sextant {
namespace {

constexpr double kMostWork = 1e30;
// What rates alone are a curve of: a pass so long that its floor is nothing beside it.
constexpr double kLongPassBytes = 1e12;

Widening ToThe(Widening widening, double exponent) {
  return {std::pow(widening.low, exponent), std::pow(widening.high, exponent)};
}

StreamWork Limited(const StreamWork& work) {
  return {.read_bytes = std::clamp(work.read_bytes, 0.0, kMostWork),
          .written_bytes = std::clamp(work.written_bytes, 0.0, kMostWork),
          .flops = std::clamp(work.flops, 0.0, kMostWork)};
}

// Beyond the largest pass the rate is main memory's, which was measured.
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
  return ratios.size() < kFewestPasses ? StreamFallbacks::kUntried : ErrorOf(std::move(ratios));
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
  out.curve_.floor_seconds = floor;
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
  Widening widening = ToThe(StreamFallbacks::kArithmetic, joined.compute_share);
  if (work.flops > 0 && arithmetic_.seconds_per_flop == 0) {
    widening = widening * StreamFallbacks::kNoArithmetic;
  }
  KernelBasis basis = basis_;
  // What rates lack is in their own error.
  if (basis_ != KernelBasis::kDatasheet) {
    const StreamLack lack = LackAt(curve_, work.bytes(), work.read_share());
    const Widening mix =
        processor_ ? StreamFallbacks::kOtherMixOfProcessor : StreamFallbacks::kOtherMix;
    widening = widening * ToThe(mix, 2 * lack.share_outside) *
               ToThe(StreamFallbacks::kSmaller,
                     std::min(lack.octaves_below, StreamFallbacks::kMostOctaves));
    if (lack.octaves_below > 0 || lack.share_outside > 0) basis = KernelBasis::kOutsideGrid;
  }
  if (kind == StreamKind::kElementwise) return TimeWithin(joined.seconds, error_, widening, basis);
  return TimeWithin(joined.seconds * StreamFallbacks::kRowsOverPass, error_,
                    widening * StreamFallbacks::kRows, basis);
}

std::vector<NearbyPass> StreamModel::Nearest(const StreamWork& work, size_t most) const {
  std::vector<std::pair<double, NearbyPass>> all;
  for (const MeasuredStream& stream : measured_.streams) {
    all.push_back(
        {PassDistance(work, WorkOf(stream)),
         {absl::StrCat(StreamPatternName(stream.pattern), " of ", stream.array_bytes, " bytes"),
          stream.time}});
  }
  for (const MeasuredElementwise& step : measured_.ladder) {
    all.push_back({PassDistance(work, WorkOf(step)),
                   {absl::StrCat(step.multiply_adds, " multiply-adds an element of ",
                                 step.array_bytes, " bytes"),
                    step.time}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<NearbyPass> out;
  for (size_t i = 0; i < std::min(most, all.size()); ++i) out.push_back(all[i].second);
  return out;
}

}  // namespace sextant
