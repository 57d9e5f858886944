#include "engine/hardware/host_link.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {
namespace {

constexpr char kPinned[] = "host_copy_bytes_per_second";
constexpr char kUpdate[] = "host_update_bytes_per_second";
constexpr char kPageable[] = "pageable_host_copy_bytes_per_second";

// A processor's memory is its host's: copies there are those that it measured within its memory,
// whose rate counts each byte twice, read and written.
bool CopiesWithinMemory(const DeviceModel& model) {
  return model.calibration().processor && model.kernels().host_copies.empty() &&
         model.calibration().memory_copy().has_value();
}

absl::optional<BytesPerSecond> MeasuredRate(const DeviceModel& model, bool pageable) {
  if (!CopiesWithinMemory(model)) {
    return SlowerHostCopyRate(model.kernels().host_copies, pageable);
  }
  return BytesPerSecond(model.calibration().memory_copy()->per_second / 2);
}

absl::optional<BytesPerSecond> MeasuredLink(const HostLinkQuery& query, bool pageable,
                                            std::vector<Rate>& used) {
  const DeviceModel* slowest = nullptr;
  absl::optional<BytesPerSecond> out;
  for (const DeviceModel* const model : query.models) {
    const auto rate = MeasuredRate(*model, pageable);
    if (!rate.has_value()) return absl::nullopt;
    if (slowest != nullptr && *rate >= *out) continue;
    slowest = model;
    out = rate;
  }
  if (slowest == nullptr) return absl::nullopt;
  KernelSource source = SourceOfMeasured(slowest->kernels());
  if (CopiesWithinMemory(*slowest)) {
    source.citation =
        absl::StrCat(CitationOf(slowest->calibration(), *slowest->calibration().memory_copy()),
                     "; half its rate, which counts each byte read and written");
  }
  if (query.models.size() > 1) {
    absl::StrAppend(&source.citation, "; the slowest of ", query.models.size(), " devices");
  }
  RateWriter(
      {.quantity = pageable ? kPageable : kPinned, .unit = "byte/s", .device = source.device}, used)
      .FromMeasurement(slowest->calibration(), {.value = out->value(),
                                                .source = query.measured_by,
                                                .citation = std::move(source.citation)});
  return out;
}

// Bytes a second of 16 lanes in one direction, by generation: 8, 16 and 32 GT/s a lane in 128 of
// 130 bits, 64 GT/s in 242 of 256 bytes (PCI-SIG, PCI Express Base Specification).
absl::optional<double> PcieRate(const DatasheetValue& generation) {
  constexpr std::array<double, 4> kFromThird = {15.75e9, 31.5e9, 63e9, 121e9};
  if (!generation) return absl::nullopt;
  const auto index = static_cast<ptrdiff_t>(generation.value) - 3;
  if (index < 0 || index >= static_cast<ptrdiff_t>(kFromThird.size())) return absl::nullopt;
  return kFromThird.at(static_cast<size_t>(index));
}

const NodeType* SlowestNodeOf(const Accelerator& accelerator) {
  const NodeType* out = nullptr;
  for (const NodeType* const node : NodeTypesOf(accelerator.name)) {
    if (!node->host_rate) continue;
    if (out == nullptr || node->host_rate.value < out->host_rate.value) out = node;
  }
  return out;
}

// A line rate, and whose it is.
struct LineRate {
  double bytes_per_second = 0;
  RateSource source = RateSource::kDatasheet;
  std::string name = {};
};

BytesPerSecond PublishedRate(LineRate line, absl::string_view device, std::vector<Rate>& used) {
  const double rate = line.bytes_per_second * HostCopyShare::kExpected;
  used.push_back({.quantity = kPinned,
                  .value = rate,
                  .unit = "byte/s",
                  .source = line.source,
                  .citation = absl::StrFormat(
                      "%s; published share of it %.2f, %.2f to %.2f (docs/links.md)", line.name,
                      HostCopyShare::kExpected, HostCopyShare::kLow, HostCopyShare::kHigh),
                  .device = device});
  return BytesPerSecond(rate);
}

}  // namespace

absl::optional<BytesPerSecond> PinnedHostLink(const HostLinkQuery& query, std::vector<Rate>& used) {
  const Accelerator* const product = query.accelerator;
  const absl::string_view device = product != nullptr ? product->name : "";
  if (query.link_line_rate.has_value()) {
    return PublishedRate({*query.link_line_rate, RateSource::kRequest, "the request's line rate"},
                         device, used);
  }
  const auto measured = MeasuredLink(query, /*pageable=*/false, used);
  if (measured.has_value()) return measured;
  const NodeType* node = query.node;
  if (node == nullptr && product != nullptr) node = SlowestNodeOf(*product);
  if (node != nullptr && node->host_rate) {
    std::string name = absl::StrCat("host link of a ", node->name, ": ", SourceOf(node->host_rate));
    return PublishedRate({node->host_rate.value, RateSource::kDatasheet, std::move(name)}, device,
                         used);
  }
  if (node != nullptr || product == nullptr) return absl::nullopt;
  const absl::optional<double> pcie = PcieRate(product->pcie_generation);
  if (!pcie.has_value()) return absl::nullopt;
  std::string name =
      absl::StrFormat("PCIe %.0f x16 of the datasheet", product->pcie_generation.value);
  return PublishedRate({*pcie, RateSource::kDatasheet, std::move(name)}, device, used);
}

absl::optional<BytesPerSecond> PageableHostLink(const HostLinkQuery& query,
                                                std::vector<Rate>& used) {
  return MeasuredLink(query, /*pageable=*/true, used);
}

absl::optional<BytesPerSecond> HostUpdateRate(const HostLinkQuery& query, std::vector<Rate>& used) {
  LineRate line;
  if (query.memory_line_rate.has_value()) {
    line = {*query.memory_line_rate, RateSource::kRequest, "the request's line rate"};
  } else if (query.node != nullptr && query.node->host_memory_rate) {
    const LinkDatum& memory = query.node->host_memory_rate;
    line = {memory.value, RateSource::kDatasheet,
            absl::StrCat("host memory of a ", query.node->name, ": ", SourceOf(memory))};
  } else {
    return absl::nullopt;
  }
  const double rate = line.bytes_per_second * kHostUpdateShare;
  used.push_back({.quantity = kUpdate,
                  .value = rate,
                  .unit = "byte/s",
                  .source = line.source,
                  .citation = absl::StrFormat("%s; share of it that CPU-Adam reaches %.2f, of one "
                                              "server (docs/step_time.md)",
                                              line.name, kHostUpdateShare),
                  .device = query.accelerator != nullptr ? query.accelerator->name : ""});
  return BytesPerSecond(rate);
}

}  // namespace sextant
