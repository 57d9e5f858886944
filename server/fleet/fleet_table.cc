#include "server/fleet/fleet_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/hardware/catalogue.h"

namespace sextant::server {
namespace {

constexpr absl::string_view kMatmul = "sextant_gpu_matmul_flops_per_second";
constexpr absl::string_view kMemory = "sextant_gpu_memory_bandwidth_bytes_per_second";
constexpr absl::string_view kHostCopy = "sextant_gpu_host_copy_bytes_per_second";
constexpr absl::string_view kMemoryTotal = "sextant_gpu_memory_total_bytes";
constexpr absl::string_view kMemoryTaken = "sextant_gpu_memory_taken_bytes";
constexpr absl::string_view kMeasured = "sextant_gpu_measured";
constexpr absl::string_view kHealthy = "sextant_gpu_healthy";
constexpr absl::string_view kStable = "sextant_gpu_probe_stable";
constexpr absl::string_view kLastSuccess = "sextant_gpu_probe_last_success_timestamp_seconds";

// The label `figure` of deploy/monitoring/recording_rules.yml, in the order of RateFigure.
constexpr absl::string_view kFigureNames[kRateFigures] = {"bf16_burst",     "bf16_sustained",
                                                          "fp8_sustained",  "memory_copy",
                                                          "copy_to_device", "copy_from_device"};

// A regular expression of RE2 that matches any of `names` and nothing else, within a string of
// PromQL, which takes a backslash as Go does.
std::string AnyOf(absl::Span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += '|';
    for (const char c : name) {
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\\') {
        out += "\\\\\\\\";
      } else if (c == '"') {
        out += "\\\"";
      } else {
        if (absl::StrContains(".+*?()|[]{}^$", c)) out += "\\\\";
        out += c;
      }
    }
  }
  return out;
}

constexpr char kOrigin[] = "its host, by the fleet's metrics";

int64_t WholeOf(double value) {
  return value >= 0 && value < 1e18 ? static_cast<int64_t>(value) : 0;  // NaN: 0
}

bool IsRate(double value) { return std::isfinite(value) && value > 0; }

// The lower of two that are known.
template <typename Whole>
Whole LowerKnown(Whole a, Whole b) {
  if (a == Whole(0) || b == Whole(0)) return std::max(a, b);
  return std::min(a, b);
}

void TakeRate(RateFigure figure, double value, absl::string_view uuid, FleetMember& out) {
  SlowestRate& kept = out.rates[static_cast<size_t>(figure)];
  if (!IsRate(value) || (kept.value > 0 && kept.value <= value)) return;
  kept = {.value = value, .uuid = std::string(uuid)};
}

absl::optional<RateFigure> FigureNamed(absl::string_view name) {
  const auto* const found = std::find(std::begin(kFigureNames), std::end(kFigureNames), name);
  if (found == std::end(kFigureNames)) return absl::nullopt;
  return static_cast<RateFigure>(found - std::begin(kFigureNames));
}

// The figure of a device's own series, or of a product's median.
absl::optional<RateFigure> FigureOf(const PrometheusSample& sample, absl::string_view series) {
  if (series == kMatmul) {
    const bool sustained = sample.Label("window") == "sustained";
    if (sample.Label("dtype") == "bf16") {
      return sustained ? RateFigure::kBf16Sustained : RateFigure::kBf16Burst;
    }
    if (sample.Label("dtype") == "fp8" && sustained) return RateFigure::kFp8Sustained;
  } else if (series == kMemory && sample.Label("op") == "copy") {
    return RateFigure::kMemoryCopy;
  } else if (series == kHostCopy) {
    return sample.Label("direction") == "h2d" ? RateFigure::kCopyToDevice
                                              : RateFigure::kCopyFromDevice;
  }
  return absl::nullopt;
}

// Takes another figure than a rate.
void TakeFact(absl::string_view series, const PrometheusSample& sample, FleetMember& out) {
  const int64_t whole = WholeOf(sample.value);
  if (series == kMemoryTotal) {
    out.memory = LowerKnown(out.memory, Bytes(whole));
  } else if (series == kMemoryTaken) {
    out.taken = std::max(out.taken, Bytes(whole));
  } else if (series == kMeasured) {
    out.device_count += whole;
  } else if (series == kLastSuccess) {
    out.oldest_unix_seconds = LowerKnown(out.oldest_unix_seconds, whole);
  } else if (series == kStable) {
    out.stable = out.stable && sample.value != 0;
  } else if (series == kHealthy && sample.value == 0) {
    out.unhealthy.emplace_back(sample.Label("UUID"));
  }
}

// Finds products by the names that devices report, each once.
class Products {
 public:
  const Accelerator* Of(absl::string_view reported) {
    const auto [found, is_new] = known_.try_emplace(std::string(reported), nullptr);
    if (is_new) found->second = AcceleratorReportedAs(found->first);
    return found->second;
  }

 private:
  std::unordered_map<std::string, const Accelerator*> known_;
};

// The member of `members` that the sample is about.
FleetMember& MemberOf(const PrometheusSample& sample, absl::string_view key, Products& products,
                      FleetMembers& members) {
  const absl::string_view product = sample.Label("modelName");
  std::vector<FleetMember>& of_key = members[std::string(key)];
  for (FleetMember& member : of_key) {
    if (member.product_name == product) return member;
  }
  return of_key.emplace_back(FleetMember{.accelerator = products.Of(product),
                                         .product_name = std::string(product),
                                         .hostname = std::string(sample.Label("hostname"))});
}

// The middle of "modelName_dtype:sextant_gpu_matmul_flops_per_second:p50", and its end.
struct RecordedName {
  absl::string_view series;
  absl::string_view statistic;
};

absl::optional<RecordedName> RecordedNameOf(absl::string_view name) {
  const size_t first = name.find(':');
  const size_t last = name.rfind(':');
  if (first == name.npos || first == last) return absl::nullopt;
  return RecordedName{name.substr(first + 1, last - first - 1), name.substr(last + 1)};
}

template <typename Quantity>
void Copy(const FleetMember& from, RateFigure figure, absl::optional<Quantity>& out) {
  const double value = from.rates[static_cast<size_t>(figure)].value;
  if (value > 0) out = Quantity(value);
}

KnownRates KnownRatesOf(const FleetMember& member) {
  KnownRates out = {.product_name = member.product_name,
                    .accelerator = member.accelerator,
                    .measured_unix_seconds = member.oldest_unix_seconds,
                    .stable = member.stable};
  if (member.memory > Bytes(0)) out.memory = member.memory;
  Copy(member, RateFigure::kBf16Burst, out.bf16_burst);
  Copy(member, RateFigure::kBf16Sustained, out.bf16_sustained);
  Copy(member, RateFigure::kFp8Sustained, out.fp8_sustained);
  Copy(member, RateFigure::kMemoryCopy, out.memory_copy);
  Copy(member, RateFigure::kCopyToDevice, out.copy_to_device);
  Copy(member, RateFigure::kCopyFromDevice, out.copy_from_device);
  return out;
}

void TakeUsual(const PrometheusSample& sample, const RecordedName& name, FleetMember& out) {
  if (name.series == kMeasured && name.statistic == "count") TakeFact(name.series, sample, out);
  const bool whole = name.series == kMemoryTotal || name.series == kLastSuccess;
  if (whole && name.statistic == "min") TakeFact(name.series, sample, out);
  if (whole || name.statistic != "p50") return;
  const absl::optional<RateFigure> figure = FigureOf(sample, name.series);
  if (figure.has_value()) TakeRate(*figure, sample.value, "", out);
}

// The slowest of `members` but for `left_out`, and of bf16 whose it is.
struct Joined {
  FleetMember slowest;
  const FleetMember* member = nullptr;  // null: none has a rate in bf16
  std::string uuid;
};

Joined Join(absl::Span<const FleetMember* const> members, const FleetMember* left_out) {
  Joined out;
  for (const FleetMember* const member : members) {
    if (member == left_out) continue;
    for (size_t figure = 0; figure < kRateFigures; ++figure) {
      const SlowestRate& rate = member->rates[figure];
      TakeRate(static_cast<RateFigure>(figure), rate.value, rate.uuid, out.slowest);
    }
    out.slowest.memory = LowerKnown(out.slowest.memory, member->memory);
    out.slowest.oldest_unix_seconds =
        LowerKnown(out.slowest.oldest_unix_seconds, member->oldest_unix_seconds);
    out.slowest.stable = out.slowest.stable && member->stable;
  }
  // Long runs decide, and bursts where nothing else is known.
  const bool sustained =
      out.slowest.rates[static_cast<size_t>(RateFigure::kBf16Sustained)].value > 0;
  const auto deciding =
      static_cast<size_t>(sustained ? RateFigure::kBf16Sustained : RateFigure::kBf16Burst);
  const SlowestRate& slowest = out.slowest.rates[deciding];
  for (const FleetMember* const member : members) {
    if (member == left_out || slowest.value <= 0) continue;
    if (member->rates[deciding].value != slowest.value) continue;
    out.member = member;
    out.uuid = slowest.uuid;
    break;
  }
  return out;
}

KnownRates NamedRatesOf(Joined joined) {
  joined.slowest.accelerator = joined.member->accelerator;
  joined.slowest.product_name = joined.member->product_name;
  KnownRates out = KnownRatesOf(joined.slowest);
  out.uuid = std::move(joined.uuid);
  out.hostname = joined.member->hostname;
  out.origin = kOrigin;
  return out;
}

}  // namespace

std::string FleetQuery() {
  return "{__name__=~\"(hostname_)?modelName.*:sextant_gpu_.*:(p50|min|max|count)\"}";
}

std::string DevicesQuery(absl::Span<const std::string> uuids) {
  constexpr char kSeries[] =
      "sextant_gpu_(matmul_flops_per_second|memory_bandwidth_bytes_per_second|"
      "host_copy_bytes_per_second|memory_total_bytes|memory_taken_bytes|healthy|probe_stable|"
      "probe_last_success_timestamp_seconds)";
  return absl::StrCat("{__name__=~\"", kSeries, "\",gpu!=\"cpu\",UUID=~\"", AnyOf(uuids), "\"}");
}

const UsualDevice* FleetTable::Usual(const Accelerator& accelerator) const {
  const UsualDevice* out = nullptr;
  for (const auto& [name, usual] : products) {
    const KnownRates& rates = usual.rates;
    if (rates.accelerator != &accelerator) continue;
    if (!rates.bf16_burst.has_value() && !rates.bf16_sustained.has_value()) continue;
    if (out == nullptr || usual.device_count >= out->device_count) out = &usual;
  }
  return out;
}

FleetTable TableFrom(absl::Span<const PrometheusSample> samples) {
  FleetTable out;
  Products products;
  FleetMembers usual;
  for (const PrometheusSample& sample : samples) {
    const absl::string_view name = sample.Label("__name__");
    const absl::optional<RecordedName> recorded = RecordedNameOf(name);
    if (!recorded.has_value()) continue;
    if (!absl::StartsWith(name, "hostname_")) {
      TakeUsual(sample, *recorded, MemberOf(sample, sample.Label("modelName"), products, usual));
      continue;
    }
    FleetMember& host = MemberOf(sample, sample.Label("hostname"), products, out.hosts);
    const absl::optional<RateFigure> figure = FigureNamed(sample.Label("figure"));
    if (figure.has_value()) {
      TakeRate(*figure, sample.value, sample.Label("UUID"), host);
    } else {
      TakeFact(recorded->series, sample, host);
    }
  }
  for (const auto& [name, members] : usual) {
    UsualDevice& product = out.products[name];
    product.rates = KnownRatesOf(members.front());
    product.device_count = members.front().device_count;
    product.rates.origin =
        absl::StrCat("the fleet's hosts, the median of ", product.device_count, " devices");
  }
  return out;
}

FleetMembers DevicesFrom(absl::Span<const PrometheusSample> samples) {
  FleetMembers out;
  Products products;
  for (const PrometheusSample& sample : samples) {
    const absl::string_view uuid = sample.Label("UUID");
    if (uuid.empty()) continue;
    FleetMember& device = MemberOf(sample, uuid, products, out);
    const absl::string_view series = sample.Label("__name__");
    const absl::optional<RateFigure> figure = FigureOf(sample, series);
    if (figure.has_value()) {
      TakeRate(*figure, sample.value, uuid, device);
    } else {
      TakeFact(series, sample, device);
    }
    if (series == kLastSuccess) device.device_count = 1;
  }
  return out;
}

SlowestDevices SlowestOf(absl::Span<const FleetMember* const> members) {
  Joined slowest = Join(members, nullptr);
  SlowestDevices out;
  if (slowest.member == nullptr) return out;
  Joined next = Join(members, slowest.member);
  out.slowest = NamedRatesOf(std::move(slowest));
  if (next.member != nullptr) out.next = NamedRatesOf(std::move(next));
  return out;
}

}  // namespace sextant::server
