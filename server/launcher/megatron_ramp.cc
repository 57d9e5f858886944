// Batches that grow in equal steps, each over equal samples, as --rampup-batch-size has them.
// Source: RampupBatchsizeNumMicroBatchesCalculator of megatron/core/num_microbatches_calculator.py,
// NVIDIA/Megatron-LM core_v0.15.3.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxRampSteps = 256;  // phases of layout.batch_ramp
constexpr int64_t kMaxRampNumber = 1'000'000'000'000;
constexpr int64_t kMaxRampSamples = 100'000'000'000'000'000;

struct BatchGrowth {
  int64_t start = 0;
  int64_t increment = 0;
  int64_t samples = 0;

  int64_t StepsTo(int64_t batch) const { return (batch - start) / increment; }
};

// A batch and the samples that are trained with it.
struct RampPhase {
  int64_t batch = 0;
  int64_t samples = 0;
};

// The samples after which the step that follows `step` has the next batch:
//   ceil((step + 1) x samples / steps)
int64_t EndOf(int64_t step, const BatchGrowth& growth, int64_t steps) {
  const absl::int128 end = (absl::int128(step + 1) * growth.samples + steps - 1) / steps;
  return static_cast<int64_t>(end);
}

// Each batch runs whole steps, the last of which passes its end. One that the former has passed
// already has none.
std::vector<RampPhase> PhasesOf(const BatchGrowth& growth, int64_t batch) {
  std::vector<RampPhase> out;
  const int64_t steps = growth.StepsTo(batch);
  int64_t seen = 0;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t end = EndOf(i, growth, steps);
    if (seen >= end) continue;
    const int64_t size = growth.start + i * growth.increment;
    const int64_t samples = (end - seen + size - 1) / size * size;
    out.push_back({size, samples});
    seen += samples;
  }
  return out;
}

// Numbers as Python writes them: "9_765_625".
std::optional<int64_t> RampNumber(const std::string& text) {
  int64_t out = 0;
  if (!absl::SimpleAtoi(absl::StrReplaceAll(text, {{"_", ""}}), &out)) return std::nullopt;
  if (out < 0 || out > kMaxRampNumber) return std::nullopt;
  return out;
}

std::optional<BatchGrowth> GrowthIn(const std::vector<std::string>& words, int64_t batch) {
  if (words.size() != 3) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const std::string& word : words) {
    const std::optional<int64_t> number = RampNumber(word);
    if (!number.has_value()) return std::nullopt;
    numbers.push_back(*number);
  }
  const BatchGrowth out = {numbers[0], numbers[1], numbers[2]};
  const bool sound = out.start > 0 && out.increment > 0 && out.start <= batch &&
                     (batch - out.start) % out.increment == 0;
  return sound ? std::optional<BatchGrowth>(out) : std::nullopt;
}

// Steps of the run are those of the ramp and of the full batch.
void CountSteps(const std::vector<RampPhase>& phases, Reading& reading) {
  if (reading.out.step_count == 0) return;
  absl::int128 samples = 0;
  int64_t left = reading.out.step_count;
  for (const RampPhase& phase : phases) {
    const int64_t steps = std::min(left, phase.samples / phase.batch);
    samples += absl::int128(steps) * phase.batch;
    left -= steps;
  }
  samples += absl::int128(left) * reading.layout().global_batch_size();
  samples *= reading.training().sequence_length();
  reading.out.step_count = 0;
  reading.training().set_token_count(
      static_cast<int64_t>(std::min<absl::int128>(samples, std::numeric_limits<int64_t>::max())));
}

// The batches of `phases`, in steps of the greatest increment that has them all.
std::optional<BatchGrowth> GrowthOf(const std::vector<RampPhase>& phases, int64_t batch) {
  BatchGrowth out = {.start = phases.front().batch};
  for (size_t i = 0; i < phases.size(); ++i) {
    const int64_t next = i + 1 < phases.size() ? phases[i + 1].batch : batch;
    const RampPhase& phase = phases[i];
    if (next <= phase.batch || phase.samples % phase.batch != 0) return std::nullopt;
    if (phase.samples > kMaxRampSamples) return std::nullopt;
    out.increment = std::gcd(out.increment, next - phase.batch);
  }
  const int64_t steps = out.StepsTo(batch);
  if (steps > kMaxRampSteps) return std::nullopt;
  // The most samples that end each batch where its phase does.
  absl::int128 most = std::numeric_limits<int64_t>::max();
  int64_t seen = 0;
  size_t at = 0;
  for (int64_t i = 0; i < steps; ++i) {
    if (at < phases.size() && phases[at].batch == out.start + i * out.increment) {
      seen += phases[at++].samples;
      if (seen > kMaxRampSamples) return std::nullopt;
    }
    most = std::min(most, absl::int128(seen) * steps / (i + 1));
  }
  out.samples = static_cast<int64_t>(most);
  return out;
}

}  // namespace

void ReadRamp(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  const int64_t batch = reading.layout().global_batch_size();
  const int64_t length = reading.training().sequence_length();
  const std::vector<std::string> words = reading.file.Texts(setting.name);
  if (batch == 0 || length == 0) return reading.file.Ignore(setting.name);
  const std::optional<BatchGrowth> growth = GrowthIn(words, batch);
  if (!growth.has_value()) {
    return reading.file.Refuse(setting.name,
                               "write START INCREMENT SAMPLES, which reach --global-batch-size");
  }
  if (growth->StepsTo(batch) > kMaxRampSteps) return reading.file.Ignore(setting.name);
  const std::vector<RampPhase> phases = PhasesOf(*growth, batch);
  for (const RampPhase& phase : phases) {
    v1::BatchPhase& out = *reading.layout().add_batch_ramp();
    out.set_global_batch_size(phase.batch);
    out.set_token_count(Product(phase.samples, length).value_or(0));  // 0: refused by the server
  }
  CountSteps(phases, reading);
}

void WriteRamp(const Setting& setting, Writing& writing) {
  const int64_t length = writing.training().sequence_length();
  const int64_t batch = writing.sizes.global_batch;
  std::vector<RampPhase> phases;
  bool whole = length > 0;
  for (const v1::BatchPhase& phase : writing.layout().batch_ramp()) {
    whole = whole && phase.global_batch_size() > 0 && phase.token_count() > 0 &&
            phase.token_count() % length == 0;
    if (!whole) break;
    phases.push_back({phase.global_batch_size(), phase.token_count() / length});
  }
  if (whole && phases.empty()) return;
  const std::optional<BatchGrowth> growth = whole ? GrowthOf(phases, batch) : std::nullopt;
  const auto same = [](const RampPhase& a, const RampPhase& b) {
    return a.batch == b.batch && a.samples == b.samples;
  };
  const std::vector<RampPhase> read = growth ? PhasesOf(*growth, batch) : std::vector<RampPhase>();
  if (!growth || !std::equal(phases.begin(), phases.end(), read.begin(), read.end(), same)) {
    return writing.refusals.Add("layout.batch_ramp",
                                "it grows in equal steps, each over as many samples, in whole "
                                "batches");
  }
  writing.list.Add(setting.name,
                   absl::StrCat(growth->start, " ", growth->increment, " ", growth->samples));
}

}  // namespace sextant::server
