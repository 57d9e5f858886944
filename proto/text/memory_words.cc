#include "proto/text/memory_words.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/text/format.h"
#include "sextant/v1/interval.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::text {
namespace {

constexpr double kBytesOfGib = 1073741824.0;  // 2^30

// "85.52 GB", of 1e9 bytes.
std::string GigabytesText(int64_t bytes, int decimals) {
  return absl::StrCat(Grouped(static_cast<double>(bytes) / 1e9, decimals), " GB");
}

}  // namespace

double GibOf(int64_t bytes) { return GibOf(static_cast<double>(bytes)); }
double GibOf(double bytes) { return bytes / kBytesOfGib; }

std::string GibNumber(int64_t bytes) { return GibNumber(static_cast<double>(bytes)); }
std::string GibNumber(double bytes) { return Grouped(GibOf(bytes), 2); }

std::string IntervalText(const v1::Interval& interval) {
  const auto number = [](double bytes) { return GibNumber(bytes); };
  return absl::StrCat(number(interval.expected()), " GiB (", EndsText(interval, number), ")");
}

std::string BoundText(const v1::Memory& memory) {
  if (memory.unmodelled_settings().empty()) return "";
  switch (memory.unmodelled_effect()) {
    case v1::MEMORY_EFFECT_LOWERS:
      return "at most ";
    case v1::MEMORY_EFFECT_RAISES:
      return "at least ";
    default:
      return "";
  }
}

std::string PeakText(const v1::Memory& memory) {
  const std::string where =
      memory.stages_size() == 1
          ? " usable"
          : absl::StrCat(" usable on stage ", memory.peak_stage(), ", which holds the most");
  const v1::DeviceCapacity& capacity = memory.capacity();
  const std::string taken =
      capacity.reserved_is_taken()
          ? absl::StrCat("; processes hold ", Gib(capacity.reserved_bytes()), " now")
          : "";
  return absl::StrCat(BoundText(memory), IntervalText(memory.peak_bytes()), " of ",
                      Gib(capacity.usable_bytes()), where, taken);
}

std::string UnmodelledText(const v1::Memory& memory) {
  constexpr int kShown = 3;
  const auto& settings = memory.unmodelled_settings();
  if (settings.empty()) return "";
  const auto last = settings.begin() + std::min(settings.size(), kShown);
  const int more = settings.size() - kShown;
  return absl::StrCat(" (", UnmodelledCount(memory), ": ",
                      absl::StrJoin(settings.begin(), last, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "", ")");
}

std::string UnmodelledCount(const v1::Memory& memory) {
  const int count = memory.unmodelled_settings_size();
  if (count == 0) return "";
  return absl::StrCat(count, count == 1 ? " setting" : " settings", " not modelled");
}

std::string CapacityText(const v1::DeviceCapacity& capacity) {
  std::string out = absl::StrFormat("%s (%s)", Gib(capacity.capacity_bytes()),
                                    GigabytesText(capacity.capacity_bytes(), 2));
  switch (capacity.source()) {
    case v1::CAPACITY_SOURCE_REQUEST:
      absl::StrAppend(&out, " as the request gives it");
      break;
    case v1::CAPACITY_SOURCE_REPORTED:
      absl::StrAppend(&out, " as its ", capacity.has_nominal_bytes() ? "driver" : "host",
                      " reports");
      break;
    case v1::CAPACITY_SOURCE_NOMINAL:
      absl::StrAppend(&out, ", the nominal size: no figure of its driver is known");
      break;
    default:
      return "";
  }
  if (const int64_t bytes = capacity.driver_reserved_bytes(); bytes > 0) {
    absl::StrAppend(&out, ", less its own ", Gib(bytes));
  }
  if (const int64_t bytes = capacity.reserved_bytes(); bytes > 0) {
    absl::StrAppend(
        &out, ", less ", Gib(bytes),
        capacity.reserved_is_taken() ? " that processes hold now" : " that the request reserves");
  }
  if (capacity.source() == v1::CAPACITY_SOURCE_REQUEST && capacity.has_reported_bytes()) {
    absl::StrAppend(&out, "; reported ", Gib(capacity.reported_bytes()));
  }
  if (capacity.source() != v1::CAPACITY_SOURCE_NOMINAL && capacity.has_nominal_bytes()) {
    absl::StrAppend(&out, "; nominal ", GigabytesText(capacity.nominal_bytes(), 0));
  }
  return out;
}

std::string HeadroomText(const v1::Interval& headroom) {
  if (headroom.low() >= 0) return absl::StrCat(IntervalText(headroom), " to spare");
  if (headroom.high() < 0) {
    v1::Interval missing;
    missing.set_low(-headroom.high());
    missing.set_expected(-headroom.expected());
    missing.set_high(-headroom.low());
    return absl::StrCat("short by ", IntervalText(missing));
  }
  return absl::StrCat("from ", GibNumber(-headroom.low()), " GiB short to ",
                      GibNumber(headroom.high()), " GiB to spare; as expected ",
                      GibNumber(std::abs(headroom.expected())), " GiB ",
                      headroom.expected() < 0 ? "short" : "to spare");
}

std::string HostNeedText(const v1::Memory& memory) {
  const v1::HostMemory& host = memory.host();
  const std::string share = host.share_bytes() < host.server_bytes()
                                ? absl::StrCat(", the run's devices a part of ",
                                               Scaled(static_cast<double>(host.share_bytes()), "B"))
                                : "";
  const std::string server = host.node_type().empty() ? "a server" : host.node_type();
  return absl::StrCat(
      "needs ", Scaled(static_cast<double>(host.needed_bytes()), "B"), " of host memory a server, ",
      host.has_server_bytes()
          ? absl::StrCat(server, " has ", Scaled(static_cast<double>(host.server_bytes()), "B"),
                         share)
          : absl::StrCat("what ", server, " has is not known: give --host-memory-bytes"));
}

std::string HostVerdictText(const v1::Memory& memory) {
  return memory.host().decides_verdict() ? absl::StrCat(HostNeedText(memory), "; ") : "";
}

const char* VerdictWords(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return "FITS";
    case v1::VERDICT_TIGHT:
      return "TIGHT";
    case v1::VERDICT_STATE_FITS:
      return "STATE FITS";
    default:
      return "DOES NOT FIT";
  }
}

}  // namespace sextant::text
