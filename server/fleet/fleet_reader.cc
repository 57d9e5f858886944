#include "server/fleet/fleet_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/known_rates.h"
#include "server/base/log.h"
#include "server/metrics/gauge_families.h"

namespace sextant::server {
namespace {

constexpr int kReaders = 2;
constexpr size_t kMaxWaitingReads = 256;
// UUIDs of one query, whose answer has about 2 kB of each.
constexpr size_t kDevicesAtOnce = 1024;
constexpr size_t kMaxUnhealthyNamed = 8;
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

bool IsByDevice(const v1::FleetDevices& target) { return !target.gpu_uuids().empty(); }

bool IsByHost(const v1::FleetDevices& target) { return !target.hostnames().empty(); }

// Adds what is true of one member to what is true of all.
void Join(const FleetMember& member, FleetRates& out) {
  out.device_count += member.device_count;
  if (member.oldest_unix_seconds > 0) {
    const int64_t oldest = member.oldest_unix_seconds;
    out.oldest_unix_seconds =
        out.oldest_unix_seconds == 0 ? oldest : std::min(out.oldest_unix_seconds, oldest);
  }
  out.taken = std::max(out.taken, member.taken);
  for (const std::string& uuid : member.unhealthy) {
    if (out.unhealthy.size() < kMaxUnhealthyNamed) out.unhealthy.push_back(uuid);
  }
}

}  // namespace

absl::Time FleetWaitEnd(std::chrono::system_clock::time_point deadline, absl::Time now) {
  const bool none = deadline == std::chrono::system_clock::time_point::max();
  const absl::Duration left = none ? absl::InfiniteDuration() : absl::FromChrono(deadline) - now;
  return now + std::min(kLongestFleetRead, 0.8 * left);
}

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
      read_(std::make_shared<const Snapshot>()),
      readers_({.threads = kReaders, .max_waiting = kMaxWaitingReads}),
      clock_(kTick, [this] { EndWaits(); }) {}

FleetReader::~FleetReader() = default;

bool FleetReader::TableNeedsReading(absl::Time now) const {
  return !IsNew(table_tried_, now) && now >= unreachable_until_;
}

std::vector<std::string> FleetReader::DevicesToRead(const v1::FleetDevices& target,
                                                    absl::Time now) const {
  std::vector<std::string> out;
  if (now < unreachable_until_) return out;
  const std::shared_ptr<const Devices> known = read_.load()->devices;
  for (const std::string& uuid : target.gpu_uuids()) {
    const auto found = known->find(uuid);
    if (found == known->end() || !IsNew(found->second->time, now)) out.push_back(uuid);
  }
  return out;
}

void FleetReader::WhenRead(const v1::FleetDevices& target, absl::Time until, Then then) {
  const std::string key = IsByDevice(target) ? target.SerializeAsString() : "";
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = options_.now();
    const auto under_way = reading_.find(key);
    const bool is_needed =
        key.empty() ? TableNeedsReading(now) : !DevicesToRead(target, now).empty();
    if (is_needed || under_way != reading_.end()) {
      // Rates that were read before would do.
      const std::shared_ptr<const Snapshot> read = read_.load();
      if (key.empty() && read->table != nullptr) until = std::min(until, now + kFleetPatience);
      reading_[key].push_back({until, std::move(then)});
      if (under_way != reading_.end()) return;
      then = nullptr;
    }
  }
  if (then != nullptr) return then();
  readers_.Post("", [this, key, target](const absl::Status& status) {
    absl::StatusOr<Found> found = status.ok() ? Ask(target) : status;
    Count(found.status());
    Keep(key, std::move(found));
  });
}

absl::StatusOr<FleetReader::Found> FleetReader::Ask(const v1::FleetDevices& target) const {
  const std::chrono::milliseconds limit = absl::ToChronoMilliseconds(kLongestFleetRead);
  Found out;
  std::vector<std::string> uuids;
  bool needs_table = !IsByDevice(target);
  if (IsByDevice(target)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    uuids = DevicesToRead(target, options_.now());
    needs_table = TableNeedsReading(options_.now());
  }
  for (size_t start = 0; start < uuids.size(); start += kDevicesAtOnce) {
    const auto part = absl::MakeConstSpan(uuids).subspan(start, kDevicesAtOnce);
    SEXTANT_ASSIGN_OR_RETURN(const std::vector<PrometheusSample> samples,
                             options_.query(DevicesQuery(part), limit));
    if (!out.devices.has_value()) out.devices.emplace();
    out.devices->merge(DevicesFrom(samples));
    for (const std::string& uuid : part) out.devices->try_emplace(uuid);
  }
  // The product's median stands in where none of the devices has series.
  const std::shared_ptr<const Devices> known = read_.load()->devices;
  const bool has_series =
      std::any_of(target.gpu_uuids().begin(), target.gpu_uuids().end(), [&](const auto& uuid) {
        if (out.devices.has_value() && out.devices->count(uuid) > 0) {
          return !out.devices->at(uuid).empty();
        }
        const auto found = known->find(uuid);
        return found != known->end() && !found->second->members.empty();
      });
  if (!needs_table || has_series) return out;
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<PrometheusSample> samples,
                           options_.query(FleetQuery(), limit));
  out.table = TableFrom(samples);
  return out;
}

void FleetReader::Keep(const std::string& key, absl::StatusOr<Found> found) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = options_.now();
    Snapshot read = *read_.load();
    read.failure = found.status();
    if (key.empty() || (found.ok() && found->table.has_value())) table_tried_ = now;
    if (found.ok() && found->table.has_value()) {
      read.table = std::make_shared<const FleetTable>(*std::move(found->table));
      read.time = now;
    }
    if (found.ok() && found->devices.has_value()) {
      const bool is_full = read.devices->size() + found->devices->size() > kMaxFleetDevicesKept;
      auto devices =
          is_full ? std::make_shared<Devices>() : std::make_shared<Devices>(*read.devices);
      for (auto& [uuid, members] : *found->devices) {
        (*devices)[uuid] = std::make_shared<const Device>(Device{std::move(members), now});
      }
      read.devices = std::move(devices);
    }
    if (found.ok()) {
      last_read_ = now;
      unreachable_until_ = absl::InfinitePast();
    } else if (absl::IsUnavailable(found.status()) || absl::IsDeadlineExceeded(found.status())) {
      unreachable_until_ = now + options_.interval;
    }
    read_.store(std::make_shared<const Snapshot>(std::move(read)));
    const auto ended = reading_.find(key);
    waiters.swap(ended->second);
    reading_.erase(ended);
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
    for (auto& [key, waiters] : reading_) {
      const auto late = std::partition(waiters.begin(), waiters.end(),
                                       [now](const Waiter& each) { return now < each.until; });
      std::move(late, waiters.end(), std::back_inserter(ended));
      waiters.erase(late, waiters.end());
    }
  }
  for (const Waiter& waiter : ended) waiter.then();
}

FleetReader::Named FleetReader::NamedOf(const v1::FleetDevices& target,
                                        const Accelerator& accelerator,
                                        const Snapshot& read) const {
  Named out;
  out.time = IsByDevice(target) ? absl::InfiniteFuture() : read.time;
  std::set<std::string> others;
  const auto take = [&](const std::vector<FleetMember>& members) {
    for (const FleetMember& member : members) {
      if (member.accelerator == &accelerator) {
        out.members.push_back(&member);
      } else if (member.device_count > 0) {
        others.insert(member.product_name);
      }
    }
  };
  for (const std::string& uuid : target.gpu_uuids()) {
    const auto found = read.devices->find(uuid);
    if (found == read.devices->end()) return {};
    take(found->second->members);
    out.time = std::min(out.time, found->second->time);
  }
  if (read.table != nullptr) {
    for (const std::string& host : target.hostnames()) {
      const auto found = read.table->hosts.find(host);
      if (found != read.table->hosts.end()) take(found->second);
    }
  }
  out.other_products.assign(others.begin(), others.end());
  return out;
}

void FleetReader::AddModel(const KnownRates& rates, FleetRates& out) const {
  auto model = DeviceOfRates(rates, BestCurvesOf(*rates.accelerator, options_.curves()));
  if (model.ok()) {
    out.models.push_back(*std::move(model));
  } else {
    out.missing = absl::StrCat("of ", rates.uuid.empty() ? "the product" : rates.uuid, " ",
                               model.status().message());
  }
}

FleetRates FleetReader::UsualOf(const Accelerator& accelerator, const FleetTable& table) const {
  FleetRates out = {.source = RateSource::kMeasuredModel};
  const UsualDevice* const usual = table.Usual(accelerator);
  if (usual == nullptr) {
    out.missing = absl::StrCat("no rates of ", accelerator.name,
                               " are recorded there (deploy/monitoring/recording_rules.yml)");
    return out;
  }
  out.device_count = usual->device_count;
  out.oldest_unix_seconds = usual->rates.measured_unix_seconds;
  AddModel(usual->rates, out);
  return out;
}

FleetRates FleetReader::RatesOf(const Named& named, const Accelerator& accelerator,
                                const Snapshot& read) const {
  FleetRates out = {.source = RateSource::kMeasuredDevice};
  std::set<absl::string_view> hosts;
  for (const FleetMember* const member : named.members) {
    Join(*member, out);
    if (member->device_count > 0 && !member->hostname.empty()) hosts.insert(member->hostname);
  }
  out.host_count = static_cast<int64_t>(hosts.size());
  const SlowestDevices slowest = SlowestOf(named.members);
  if (slowest.slowest.accelerator != nullptr) {
    AddModel(slowest.slowest, out);
    if (slowest.next.has_value() && !out.models.empty()) AddModel(*slowest.next, out);
  } else {
    out.missing =
        named.members.empty() ? "they have no series there" : "they have no rate in bf16 there";
  }
  if (!out.models.empty()) {
    out.missing.clear();
    return out;
  }
  out.other_products = named.members.empty() ? named.other_products : std::vector<std::string>();
  if (!out.other_products.empty() || read.table == nullptr) return out;
  if (read.table->hosts.empty() && named.members.empty()) {
    out.missing = "no hosts are recorded there (deploy/monitoring/recording_rules.yml)";
  }
  FleetRates usual = UsualOf(accelerator, *read.table);
  usual.unhealthy = std::move(out.unhealthy);
  usual.missing = std::move(out.missing);
  usual.taken = out.taken;
  return usual;
}

FleetRates FleetReader::Latest(const v1::FleetDevices& target) const {
  const absl::StatusOr<const Accelerator*> accelerator = FindAccelerator(target.accelerator());
  if (!accelerator.ok()) return {.missing = std::string(accelerator.status().message())};
  const absl::Time now = options_.now();
  const std::shared_ptr<const Snapshot> read = read_.load();
  const std::string failure = read->failure.ok() ? "Prometheus has not answered in time"
                                                 : std::string(read->failure.message());
  const Named named = NamedOf(target, **accelerator, *read);
  if (named.time == absl::InfinitePast()) return {.missing = failure};
  FleetRates out = IsByDevice(target) || IsByHost(target) ? RatesOf(named, **accelerator, *read)
                                                          : UsualOf(**accelerator, *read->table);
  if (out.oldest_unix_seconds > 0) {
    out.oldest_age_seconds =
        absl::ToDoubleSeconds(now - absl::FromUnixSeconds(out.oldest_unix_seconds));
  }
  // A call that found it new enough may take a while to get here.
  if (now - named.time <= options_.interval + kFleetPatience) return out;
  out.unread_seconds = absl::ToDoubleSeconds(now - named.time);
  out.failure = failure;
  return out;
}

std::vector<prometheus::MetricFamily> FleetReader::Collect() const {
  GaugeFamilies out;
  const std::lock_guard<std::mutex> lock(mutex_);
  const absl::Time now = options_.now();
  if (last_read_ > absl::InfinitePast()) {
    out.Add(kReadAge, {}, absl::ToDoubleSeconds(now - last_read_));
  }
  const std::shared_ptr<const FleetTable> table = read_.load()->table;
  if (table == nullptr) return out.Take();
  for (const auto& [product, usual] : table->products) {
    const KnownRates& rates = usual.rates;
    if (rates.accelerator == nullptr || table->Usual(*rates.accelerator) != &usual) continue;
    const Labels labels = {{"modelName", product}, {"source", "MEASURED_MODEL"}};
    out.Add(kDevices, labels, static_cast<double>(usual.device_count));
    const absl::Time oldest = absl::FromUnixSeconds(rates.measured_unix_seconds);
    if (rates.measured_unix_seconds > 0) {
      out.Add(kAge, labels, absl::ToDoubleSeconds(now - oldest));
    }
  }
  return out.Take();
}

}  // namespace sextant::server
