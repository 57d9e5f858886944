#include "server/fleet/fleet_query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/hardware/catalogue.h"

namespace sextant::server {
namespace {

constexpr char kFigure[] = "figure";  // a label of this query's own
constexpr char kMatmul[] = "sextant_gpu_matmul_flops_per_second";
constexpr char kMemory[] = "sextant_gpu_memory_bandwidth_bytes_per_second";
constexpr char kHostCopy[] = "sextant_gpu_host_copy_bytes_per_second";
constexpr char kMemoryTotal[] = "sextant_gpu_memory_total_bytes";
constexpr char kMemoryTaken[] = "sextant_gpu_memory_taken_bytes";
constexpr char kHealthy[] = "sextant_gpu_healthy";
constexpr char kStable[] = "sextant_gpu_probe_stable";
constexpr char kLastSuccess[] = "sextant_gpu_probe_last_success_timestamp_seconds";

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

std::vector<std::string> ListOf(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return {names.begin(), names.end()};
}

bool IsOf(const PrometheusSample& sample, const Accelerator& accelerator) {
  return AcceleratorReportedAs(std::string(sample.Label("modelName"))) == &accelerator;
}

int64_t WholeOf(double value) {
  return value >= 0 && value < 1e18 ? static_cast<int64_t>(value) : 0;  // NaN: 0
}

// Takes the lower of two values; leaves out values that are not rates.
template <typename Quantity>
void TakeLower(double value, absl::optional<Quantity>& out) {
  if (!std::isfinite(value) || value <= 0) return;
  if (!out.has_value() || value < out->value()) out = Quantity(value);
}

// Writes one figure of a device, or of a product, to `out`.
void Take(const PrometheusSample& sample, absl::string_view figure, KnownRates& out) {
  if (figure == kMatmul) {
    const absl::string_view type = sample.Label("dtype");
    const bool sustained = sample.Label("window") == "sustained";
    if (type == "bf16") TakeLower(sample.value, sustained ? out.bf16_sustained : out.bf16_burst);
    if (type == "fp8" && sustained) TakeLower(sample.value, out.fp8_sustained);
  } else if (figure == kMemory && sample.Label("op") == "copy") {
    TakeLower(sample.value, out.memory_copy);
  } else if (figure == kHostCopy) {
    const bool to_device = sample.Label("direction") == "h2d";
    TakeLower(sample.value, to_device ? out.copy_to_device : out.copy_from_device);
  } else if (figure == kMemoryTotal) {
    const int64_t bytes = WholeOf(sample.value);
    if (bytes > 0) out.memory = Bytes(bytes);
  } else if (figure == kStable) {
    out.stable = out.stable && sample.value != 0;
  } else if (figure == kLastSuccess) {
    out.measured_unix_seconds = WholeOf(sample.value);
  }
}

// True where `device` is known to be no faster than `other` at anything.
bool IsNoFaster(const KnownRates& device, const KnownRates& other) {
  const auto no_faster = [](const auto& a, const auto& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a <= *b);
  };
  return no_faster(device.bf16_burst, other.bf16_burst) &&
         no_faster(device.bf16_sustained, other.bf16_sustained) &&
         no_faster(device.fp8_sustained, other.fp8_sustained) &&
         no_faster(device.memory_copy, other.memory_copy) &&
         no_faster(device.copy_to_device, other.copy_to_device) &&
         no_faster(device.copy_from_device, other.copy_from_device) &&
         no_faster(device.memory, other.memory);
}

bool HasRate(const KnownRates& rates) {
  return rates.bf16_burst.has_value() || rates.bf16_sustained.has_value();
}

}  // namespace

std::string SlowestQuery(const v1::FleetDevices& named) {
  const bool by_host = !named.hostnames().empty();
  const std::string any = AnyOf(ListOf(by_host ? named.hostnames() : named.gpu_uuids()));
  const std::string s =
      absl::StrCat("gpu!=\"cpu\",", by_host ? "hostname" : "UUID", "=~\"", any, "\"");
  const std::string time = absl::StrCat(kLastSuccess, "{", s, "}");
  const auto marked = [](absl::string_view query, absl::string_view figure) {
    return absl::StrCat("label_replace(", query, ",\"", kFigure, "\",\"", figure, "\",\"\",\"\")");
  };
  return absl::StrCat(
      "bottomk by (modelName,dtype) (2,", kMatmul, "{window=\"sustained\",dtype=~\"bf16|fp8\",", s,
      "}) or ", "bottomk by (modelName) (2,", kMatmul, "{window=\"burst\",dtype=\"bf16\",", s,
      "} unless on (UUID) ", kMatmul, "{window=\"sustained\",dtype=\"bf16\",", s, "}) or ",
      "bottomk by (modelName) (2,", kMemory, "{op=\"copy\",", s, "}) or ",
      "bottomk by (modelName,direction) (1,", kHostCopy, "{memory=\"pinned\",", s, "}) or ",
      "bottomk by (modelName) (8,", kHealthy, "{", s, "}==0) or ",
      marked(absl::StrCat("count by (modelName) (count by (modelName,UUID) (", time, "))"),
             "devices"),
      " or ",
      marked(absl::StrCat("count by (modelName) (count by (modelName,hostname) (", time, "))"),
             "hosts"),
      " or ", marked(absl::StrCat("min by (modelName) (", time, ")"), "oldest"), " or ",
      marked(absl::StrCat("max by (modelName) (", kMemoryTaken, "{", s, "})"), "taken"));
}

std::string DevicesQuery(absl::Span<const std::string> uuids) {
  return absl::StrCat("{__name__=~\"sextant_gpu_.*\",gpu!=\"cpu\",UUID=~\"", AnyOf(uuids), "\"}");
}

std::string ProductsQuery() { return "{__name__=~\"modelName.*:sextant_gpu_.*:(p50|min|count)\"}"; }

SlowestDevices SlowestFrom(absl::Span<const PrometheusSample> samples,
                           const Accelerator& accelerator) {
  SlowestDevices out;
  std::set<std::string> slowest;
  std::set<std::string> unhealthy;
  std::set<std::string> others;
  for (const PrometheusSample& sample : samples) {
    const absl::string_view figure = sample.Label(kFigure);
    if (!IsOf(sample, accelerator)) {
      if (figure == "devices") others.emplace(sample.Label("modelName"));
      continue;
    }
    if (figure == "devices") {
      out.device_count += WholeOf(sample.value);
    } else if (figure == "hosts") {
      out.host_count += WholeOf(sample.value);
    } else if (figure == "oldest") {
      const int64_t time = WholeOf(sample.value);
      const bool first = out.oldest_unix_seconds == 0;
      out.oldest_unix_seconds = first ? time : std::min(out.oldest_unix_seconds, time);
    } else if (figure == "taken") {
      out.taken_bytes = std::max(out.taken_bytes, WholeOf(sample.value));
    } else if (sample.Label("__name__") == kHealthy) {
      unhealthy.emplace(sample.Label("UUID"));
    } else {
      slowest.emplace(sample.Label("UUID"));
    }
  }
  out.uuids.assign(slowest.begin(), slowest.end());
  out.unhealthy.assign(unhealthy.begin(), unhealthy.end());
  out.other_products.assign(others.begin(), others.end());
  return out;
}

std::vector<KnownRates> DevicesFrom(absl::Span<const PrometheusSample> samples,
                                    const Accelerator& accelerator) {
  std::map<std::string, KnownRates, std::less<>> devices;
  for (const PrometheusSample& sample : samples) {
    const absl::string_view uuid = sample.Label("UUID");
    if (uuid.empty() || !IsOf(sample, accelerator)) continue;
    KnownRates& device = devices[std::string(uuid)];
    device.uuid = std::string(uuid);
    device.hostname = std::string(sample.Label("hostname"));
    device.product_name = std::string(sample.Label("modelName"));
    device.accelerator = &accelerator;
    device.origin = "its host, by the fleet's metrics";
    Take(sample, sample.Label("__name__"), device);
  }
  std::vector<KnownRates> out;
  for (auto& [uuid, device] : devices) {
    if (HasRate(device)) out.push_back(std::move(device));
  }
  return out;
}

std::vector<KnownRates> MayBeSlowest(std::vector<KnownRates> devices) {
  std::vector<KnownRates> out;
  for (size_t i = 0; i < devices.size(); ++i) {
    int slower = 0;
    for (size_t j = 0; j < devices.size(); ++j) {
      // The first of equals stays.
      const bool equal = IsNoFaster(devices[i], devices[j]);
      if (i != j && IsNoFaster(devices[j], devices[i]) && (!equal || j < i)) ++slower;
    }
    if (slower < 2) out.push_back(devices[i]);
  }
  return out;
}

UsualDevice UsualFrom(absl::Span<const PrometheusSample> samples, const Accelerator& accelerator) {
  std::map<std::string, UsualDevice, std::less<>> products;
  for (const PrometheusSample& sample : samples) {
    if (!IsOf(sample, accelerator)) continue;
    const std::string product(sample.Label("modelName"));
    UsualDevice& usual = products[product];
    usual.rates.product_name = product;
    usual.rates.accelerator = &accelerator;
    // "modelName_dtype:sextant_gpu_matmul_flops_per_second:p50"
    const absl::string_view name = sample.Label("__name__");
    const size_t first = name.find(':');
    const size_t last = name.rfind(':');
    if (first >= last) continue;
    const absl::string_view figure = name.substr(first + 1, last - first - 1);
    const absl::string_view statistic = name.substr(last + 1);
    if (figure == "sextant_gpu_measured" && statistic == "count") {
      usual.device_count = WholeOf(sample.value);
    } else if (figure == kMemoryTotal || figure == kLastSuccess ? statistic == "min"
                                                                : statistic == "p50") {
      Take(sample, figure, usual.rates);
    }
  }
  UsualDevice out;
  for (auto& [product, usual] : products) {
    if (HasRate(usual.rates) && usual.device_count >= out.device_count) out = std::move(usual);
  }
  out.rates.origin =
      absl::StrCat("the fleet's hosts, the median of ", out.device_count, " devices");
  return out;
}

}  // namespace sextant::server
