#include "gpu_probe/cuda/condition_watch.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/options.h"
#include "gpu_probe/points/matmul.h"
#include "gpu_probe/statistics.h"

namespace sextant::probe {
namespace {

constexpr double kHertzOfMegahertz = 1e6;
constexpr double kJoulesOfMillijoule = 1e-3;
constexpr NvmlRange<unsigned> kMegahertz = {1, 10'000};
constexpr double kHighestWatts = 10'000;  // a power above it is a driver error

// The share of readings with one of `bits` among those with any reasons reported; absent where none
// reports reasons.
absl::optional<double> ShareWith(unsigned long long bits,
                                 const std::vector<ConditionReading>& readings) {
  double reported = 0;
  double with = 0;
  for (const ConditionReading& reading : readings) {
    if (!reading.throttle_reasons) continue;
    ++reported;
    if ((*reading.throttle_reasons & bits) != 0) ++with;
  }
  if (reported == 0) return absl::nullopt;
  return with / reported;
}

// The readings of one sustained point while it is measured.
struct SustainedSample {
  std::shared_ptr<ConditionWatch> watch;
  SharedSession session;
  int number = 0;
  absl::optional<SmClockCounter> counter = {};
  SampleConditions conditions = {};
  absl::optional<double> counted_sm_clock_hertz = {};

  absl::Status Begin() {
    SEXTANT_ASSIGN_OR_RETURN(SmClockCounter made, SmClockCounter::Create(session));
    counter.emplace(std::move(made));
    number = watch->BeginSample();
    return absl::OkStatus();
  }
  absl::Status End() {
    const absl::Status stamped = counter->Stamp();
    watch->EndSample();
    conditions = watch->OfSample(number);
    counted_sm_clock_hertz = counter->HertzBetweenStamps();
    counter.reset();
    return stamped;
  }
  void Record(v1::MatmulMeasurement* out) const;
};

void SustainedSample::Record(v1::MatmulMeasurement* out) const {
  if (conditions.sm_clock_hertz) out->set_sm_clock_hertz(*conditions.sm_clock_hertz);
  if (conditions.power_watts) out->set_power_watts(*conditions.power_watts);
  if (counted_sm_clock_hertz) out->set_counted_sm_clock_hertz(*counted_sm_clock_hertz);
  const double hertz = counted_sm_clock_hertz.value_or(conditions.sm_clock_hertz.value_or(0));
  const double limit = ClockLimit(session->device(), out->data_type(), hertz);
  if (limit > 0) out->set_clock_limit_ratio(out->flops_per_second() / limit);
}

void WatchSustained(const std::shared_ptr<ConditionWatch>& watch, const SharedSession& session,
                    Point* point) {
  const auto sample =
      std::make_shared<SustainedSample>(SustainedSample{.watch = watch, .session = session});
  point->on_sustained = [sample](SustainedEvent event) {
    if (event == SustainedEvent::kBegins) return sample->Begin();
    return event == SustainedEvent::kCounts ? sample->counter->Stamp() : sample->End();
  };
  point->record = [sample, record = std::move(point->record)](const v1::TimeStatistics& time,
                                                              v1::Calibration* out) {
    record(time, out);
    sample->Record(out->mutable_matmuls(out->matmuls_size() - 1));
  };
}

}  // namespace

ConditionReading ReadConditions(const Nvml& nvml, nvml::Device gpu) {
  constexpr NvmlRange<unsigned long long> kAny = {};
  ConditionReading out;
  if (const auto megahertz = AskNvml(nvml.clock, kMegahertz, gpu, nvml::kSmClock)) {
    out.sm_clock_hertz = *megahertz * kHertzOfMegahertz;
  }
  if (const auto millijoules = AskNvml(nvml.energy, kAny, gpu)) {
    out.energy_joules = static_cast<double>(*millijoules) * kJoulesOfMillijoule;
  }
  if (const auto celsius = AskNvml(nvml.temperature, kCelsius, gpu, nvml::kChipSensor)) {
    out.temperature_celsius = *celsius;
  }
  out.throttle_reasons = AskNvml(nvml.throttle_reasons, kAny, gpu);
  return out;
}

absl::optional<double> MaximumSmClockHertz(const Nvml& nvml, nvml::Device gpu) {
  const auto megahertz = AskNvml(nvml.maximum_clock, kMegahertz, gpu, nvml::kSmClock);
  if (!megahertz) return absl::nullopt;
  return *megahertz * kHertzOfMegahertz;
}

SampleConditions ConditionLog::OfSample(int sustained_sample) const {
  SampleConditions out;
  std::vector<double> clocks;
  const ConditionReading* first = nullptr;  // of those with an energy counter
  const ConditionReading* last = nullptr;
  for (const ConditionReading& reading : readings_) {
    if (reading.sustained_sample != sustained_sample) continue;
    if (reading.sm_clock_hertz) clocks.push_back(*reading.sm_clock_hertz);
    if (!reading.energy_joules) continue;
    if (first == nullptr) first = &reading;
    last = &reading;
  }
  if (!clocks.empty()) out.sm_clock_hertz = Median(clocks);
  if (first == nullptr || last->time_seconds - first->time_seconds < kMinPowerSeconds) return out;
  const double watts =
      (*last->energy_joules - *first->energy_joules) / (last->time_seconds - first->time_seconds);
  if (watts > 0 && watts <= kHighestWatts) out.power_watts = watts;
  return out;
}

absl::optional<v1::OperatingConditions> ConditionLog::Summary() const {
  if (readings_.empty()) return absl::nullopt;
  v1::OperatingConditions out;
  out.set_reading_count(static_cast<int32_t>(readings_.size()));
  for (const ConditionReading& reading : readings_) {
    if (!reading.temperature_celsius) continue;
    out.set_maximum_temperature_celsius(
        std::max(out.maximum_temperature_celsius(), *reading.temperature_celsius));
  }
  const SampleConditions first = OfSample(1);
  if (first.sm_clock_hertz) out.set_sm_clock_hertz(*first.sm_clock_hertz);
  if (first.power_watts) out.set_power_watts(*first.power_watts);
  if (const auto share = ShareWith(nvml::kThrottlePower, readings_)) {
    out.set_power_throttle_ratio(*share);
  }
  if (const auto share = ShareWith(nvml::kThrottleHeat, readings_)) {
    out.set_thermal_throttle_ratio(*share);
  }
  if (const auto share = ShareWith(nvml::kThrottleHardware, readings_)) {
    out.set_hardware_throttle_ratio(*share);
  }
  return out;
}

absl::StatusOr<std::unique_ptr<ConditionWatch>> ConditionWatch::Create(Nvml nvml,
                                                                       const std::string& uuid,
                                                                       Clock& clock) {
  nvml::Device gpu = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      NvmlStatus(CallNvml(nvml.find, uuid.c_str(), &gpu), "nvmlDeviceGetHandleByUUID"));
  return std::unique_ptr<ConditionWatch>(new ConditionWatch(std::move(nvml), gpu, clock));
}

absl::Status ConditionWatch::Start() {
  const auto read = [this] {
    try {
      Read();
    } catch (const std::bad_alloc&) {  // nothing catches on that thread; skip this reading
    }
  };
  SEXTANT_ASSIGN_OR_RETURN(ticker_,
                           Watchdog::Start({.seconds = HardDeadlineSeconds(kMaxBudgetSeconds),
                                            .on_expiry = [] {},
                                            .tick_seconds = kConditionSeconds,
                                            .on_tick = read}));
  return absl::OkStatus();
}

int ConditionWatch::BeginSample() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++sample_count_;
    in_sample_ = true;
  }
  Read();
  return sample_count_;
}

void ConditionWatch::EndSample() {
  Read();
  const std::lock_guard<std::mutex> lock(mutex_);
  in_sample_ = false;
}

SampleConditions ConditionWatch::OfSample(int number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return log_.OfSample(number);
}

void ConditionWatch::Read() {
  ConditionReading reading = ReadConditions(nvml_, gpu_);
  reading.time_seconds = clock_.NowSeconds();
  const std::lock_guard<std::mutex> lock(mutex_);
  reading.sustained_sample = in_sample_ ? sample_count_ : 0;
  log_.Add(reading);
}

absl::optional<v1::OperatingConditions> ConditionWatch::Summary() {
  absl::optional<v1::OperatingConditions> out;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    out = log_.Summary();
  }
  if (!out.has_value()) return out;
  if (const auto hertz = MaximumSmClockHertz(nvml_, gpu_)) out->set_maximum_sm_clock_hertz(*hertz);
  return out;
}

absl::Status WatchConditions(const Nvml& nvml, const SharedSession& session, ProbePlan* plan) {
  static SteadyClock clock;
  SEXTANT_ASSIGN_OR_RETURN(auto created,
                           ConditionWatch::Create(nvml, session->device().uuid(), clock));
  const std::shared_ptr<ConditionWatch> watch = std::move(created);
  SEXTANT_RETURN_IF_ERROR(watch->Start());
  for (Point& point : plan->points) {
    if (point.sustained_seconds > 0) WatchSustained(watch, session, &point);
  }
  plan->finish = [watch, session, finish = std::move(plan->finish)](v1::Calibration* out) {
    if (finish) finish(out);
    absl::optional<v1::OperatingConditions> conditions = watch->Summary();
    if (!conditions.has_value()) return;
    conditions->set_peak_allocated_bytes(session->peak_bytes());
    *out->mutable_conditions() = *std::move(conditions);
  };
  return absl::OkStatus();
}

}  // namespace sextant::probe
