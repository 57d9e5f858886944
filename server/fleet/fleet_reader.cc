#include "server/fleet/fleet_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/known_rates.h"
#include "server/base/log.h"
#include "server/fleet/fleet_query.h"
#include "server/metrics/gauge_families.h"

namespace sextant::server {
namespace {

constexpr int kReaders = 2;
constexpr std::chrono::milliseconds kTick(50);

constexpr GaugeName kReadAge = {"sextant_fleet_read_age_seconds",
                                "Time since rates were last read from the fleet's Prometheus."};
constexpr GaugeName kDevices = {"sextant_calibration_gpus",
                                "Devices that the usual rates of a product stand for."};
constexpr GaugeName kAge = {"sextant_calibration_age_seconds",
                            "Age of the oldest measurement among them."};

// The label's values form a closed set.
const char* ReasonOfFailure(const absl::Status& failure) {
  switch (failure.code()) {
    case absl::StatusCode::kUnavailable:
      return "unreachable";
    case absl::StatusCode::kDeadlineExceeded:
      return "timeout";
    case absl::StatusCode::kPermissionDenied:
      return "not_allowed";
    case absl::StatusCode::kDataLoss:
      return "malformed";
    default:
      return "refused";
  }
}

std::chrono::milliseconds Patience() { return absl::ToChronoMilliseconds(kFleetPatience); }

// Models of those of `devices` whose rates make sense, with curves of their product. Writes to
// `missing` why the last of the others has none, if there are any.
std::vector<std::shared_ptr<const DeviceModel>> ModelsOf(
    const std::vector<KnownRates>& devices,
    const std::vector<std::shared_ptr<const DeviceModel>>& curves, std::string& missing) {
  std::vector<std::shared_ptr<const DeviceModel>> out;
  for (const KnownRates& device : devices) {
    auto model = DeviceOfRates(device, BestCurvesOf(*device.accelerator, curves));
    if (model.ok()) {
      out.push_back(*std::move(model));
    } else {
      missing = absl::StrCat("of ", device.uuid.empty() ? "the product" : device.uuid, " ",
                             model.status().message());
    }
  }
  return out;
}

}  // namespace

FleetReader::FleetReader(FleetReaderOptions options, prometheus::Registry& registry)
    : options_(std::move(options)),
      reads_(prometheus::BuildCounter()
                 .Name("sextant_fleet_fetches_total")
                 .Help("Reads of rates from the fleet's Prometheus, failed ones included.")
                 .Register(registry)
                 .Add({})),
      failures_(prometheus::BuildCounter()
                    .Name("sextant_fleet_fetch_failures_total")
                    .Help("Those that failed, by reason.")
                    .Register(registry)),
      readers_({.threads = kReaders, .max_waiting = kMaxFleetTargets}),
      clock_(kTick, [this] { EndWaits(); }) {}

FleetReader::~FleetReader() = default;

FleetReader::Target& FleetReader::Find(const std::string& key) {
  const auto found = targets_.find(key);
  if (found != targets_.end()) {
    order_.splice(order_.begin(), order_, found->second.used);
    return found->second;
  }
  // One that is being read stays for its waiters.
  for (auto last = order_.rbegin(); targets_.size() >= kMaxFleetTargets && last != order_.rend();) {
    const auto old = targets_.find(*last);
    if (old->second.is_reading) {
      ++last;
      continue;
    }
    targets_.erase(old);
    last = std::make_reverse_iterator(order_.erase(std::next(last).base()));
  }
  order_.push_front(key);
  Target& out = targets_[key];
  out.used = order_.begin();
  return out;
}

bool FleetReader::NeedsReading(const Target& target, absl::Time now) const {
  return now - target.tried >= options_.interval && now >= unreachable_until_;
}

void FleetReader::WhenRead(const v1::FleetDevices& target, Then then) {
  const std::string key = target.SerializeAsString();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = options_.now();
    Target& kept = Find(key);
    if (kept.is_reading || NeedsReading(kept, now)) {
      kept.waiters.push_back({now + kFleetPatience, std::move(then)});
      if (kept.is_reading) return;
      kept.is_reading = true;
      then = nullptr;
    }
  }
  if (then != nullptr) return then();
  readers_.Post("", [this, key, target](const absl::Status& status) {
    absl::StatusOr<FleetRates> found = status.ok() ? Ask(target) : status;
    Count(found.status());
    Keep(key, std::move(found));
  });
}

void FleetReader::Keep(const std::string& key, absl::StatusOr<FleetRates> found) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Target& kept = Find(key);
    kept.is_reading = false;
    kept.tried = options_.now();
    kept.failure = found.status();
    waiters.swap(kept.waiters);
    if (found.ok()) {
      kept.reading = std::make_shared<const Reading>(Reading{*std::move(found), kept.tried});
      last_read_ = kept.tried;
      unreachable_until_ = absl::InfinitePast();
    } else if (absl::IsUnavailable(kept.failure)) {
      unreachable_until_ = kept.tried + options_.interval;
      unreachable_ = kept.failure;
    }
  }
  for (const Waiter& waiter : waiters) waiter.then();
}

void FleetReader::Count(const absl::Status& end) {
  reads_.Increment();
  if (end.ok()) return;
  failures_.Add({{"reason", ReasonOfFailure(end)}}).Increment();
  LogEvent(LogLevel::kWarning, "fleet_not_read", {{"reason", std::string(end.message())}});
}

void FleetReader::EndWaits() {
  std::vector<Waiter> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = options_.now();
    for (auto& [key, target] : targets_) {
      std::vector<Waiter>& waiters = target.waiters;
      const auto late = std::partition(waiters.begin(), waiters.end(),
                                       [now](const Waiter& each) { return now < each.until; });
      std::move(late, waiters.end(), std::back_inserter(ended));
      waiters.erase(late, waiters.end());
    }
  }
  for (const Waiter& waiter : ended) waiter.then();
}

absl::StatusOr<FleetRates> FleetReader::Ask(const v1::FleetDevices& target) const {
  SEXTANT_ASSIGN_OR_RETURN(const Accelerator* const accelerator,
                           FindAccelerator(target.accelerator()));
  if (target.hostnames().empty() && target.gpu_uuids().empty()) return AskOfProduct(*accelerator);
  SEXTANT_ASSIGN_OR_RETURN(FleetRates out, AskOfNamed(target, *accelerator));
  if (!out.models.empty() || !out.other_products.empty()) return out;
  SEXTANT_ASSIGN_OR_RETURN(FleetRates usual, AskOfProduct(*accelerator));
  usual.unhealthy = std::move(out.unhealthy);
  usual.missing = std::move(out.missing);
  usual.taken = out.taken;
  return usual;
}

absl::StatusOr<FleetRates> FleetReader::AskOfNamed(const v1::FleetDevices& target,
                                                   const Accelerator& accelerator) const {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<PrometheusSample> slowest,
                           options_.query(SlowestQuery(target), Patience()));
  SlowestDevices found = SlowestFrom(slowest, accelerator);
  FleetRates out = {.source = RateSource::kMeasuredDevice,
                    .device_count = found.device_count,
                    .host_count = found.host_count,
                    .oldest_unix_seconds = found.oldest_unix_seconds,
                    .unhealthy = std::move(found.unhealthy),
                    .other_products = std::move(found.other_products),
                    .taken = Bytes(found.taken_bytes),
                    .missing = "they have no series there"};
  if (found.uuids.empty()) return out;
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<PrometheusSample> series,
                           options_.query(DevicesQuery(found.uuids), Patience()));
  out.missing = "they have no rate in bf16 there";
  out.models =
      ModelsOf(MayBeSlowest(DevicesFrom(series, accelerator)), options_.curves(), out.missing);
  if (out.models.empty()) return out;
  out.missing.clear();
  out.other_products.clear();
  return out;
}

absl::StatusOr<FleetRates> FleetReader::AskOfProduct(const Accelerator& accelerator) const {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<PrometheusSample> samples,
                           options_.query(ProductsQuery(), Patience()));
  UsualDevice usual = UsualFrom(samples, accelerator);
  FleetRates out = {.source = RateSource::kMeasuredModel,
                    .device_count = usual.device_count,
                    .oldest_unix_seconds = usual.rates.measured_unix_seconds};
  if (!usual.rates.bf16_burst.has_value() && !usual.rates.bf16_sustained.has_value()) {
    out.device_count = 0;
    out.missing = absl::StrCat("no rates of ", accelerator.name,
                               " are recorded there (deploy/monitoring/recording_rules.yml)");
    return out;
  }
  out.models = ModelsOf({usual.rates}, options_.curves(), out.missing);
  return out;
}

FleetRates FleetReader::Latest(const v1::FleetDevices& target) {
  const std::string key = target.SerializeAsString();
  const absl::Time now = options_.now();
  std::shared_ptr<const Reading> reading;
  std::string failure;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Target& kept = Find(key);
    reading = kept.reading;
    if (kept.is_reading) {
      failure = "Prometheus has not answered for a second";
    } else if (!kept.failure.ok()) {
      failure = std::string(kept.failure.message());
    } else if (now < unreachable_until_) {
      failure = std::string(unreachable_.message());
    }
  }
  if (reading == nullptr) {
    return {.missing = failure.empty() ? "they have not been read yet" : std::move(failure)};
  }
  FleetRates out = reading->rates;
  if (out.oldest_unix_seconds > 0) {
    out.oldest_age_seconds =
        absl::ToDoubleSeconds(now - absl::FromUnixSeconds(out.oldest_unix_seconds));
  }
  // A call that found it new enough may take a while to get here.
  if (now - reading->time <= options_.interval + kFleetPatience) return out;
  out.unread_seconds = absl::ToDoubleSeconds(now - reading->time);
  out.failure = std::move(failure);
  return out;
}

std::vector<prometheus::MetricFamily> FleetReader::Collect() const {
  GaugeFamilies out;
  const std::lock_guard<std::mutex> lock(mutex_);
  const absl::Time now = options_.now();
  if (last_read_ > absl::InfinitePast()) {
    out.Add(kReadAge, {}, absl::ToDoubleSeconds(now - last_read_));
  }
  std::set<absl::string_view> seen;
  for (const std::string& key : order_) {
    const auto& reading = targets_.at(key).reading;
    if (reading == nullptr || reading->rates.models.empty() ||
        reading->rates.source != RateSource::kMeasuredModel) {
      continue;
    }
    const FleetRates& rates = reading->rates;
    const std::string& product = rates.models.front()->calibration().product_name;
    if (!seen.insert(product).second) continue;
    const Labels labels = {{"modelName", product}, {"source", "MEASURED_MODEL"}};
    out.Add(kDevices, labels, static_cast<double>(rates.device_count));
    const absl::Time oldest = absl::FromUnixSeconds(rates.oldest_unix_seconds);
    if (rates.oldest_unix_seconds > 0) out.Add(kAge, labels, absl::ToDoubleSeconds(now - oldest));
  }
  return out.Take();
}

}  // namespace sextant::server
