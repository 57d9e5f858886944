#include "engine/run/check_cluster.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace sextant {
namespace {

constexpr double kMaxPeak = 1e20;

// One of the devices that a run names.
struct Member {
  absl::string_view uuid;  // empty: not known
  absl::string_view product_name;
};

std::string PathOf(absl::string_view list, size_t index) {
  return absl::StrCat(list, "[", index, "]");
}

// The index of the first member that is the same device as `members[index]`.
size_t FirstOf(absl::Span<const Member> members, size_t index) {
  size_t first = 0;
  while (members[first].uuid != members[index].uuid) ++first;
  return first;
}

void CheckMembers(absl::string_view list, absl::Span<const Member> members, int64_t device_count,
                  FieldViolations& violations) {
  const Member* known = nullptr;  // the first whose product is known
  for (size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (member.uuid.empty()) continue;
    if (known == nullptr) known = &member;
    if (const size_t first = FirstOf(members, i); first != i) {
      violations.Add(PathOf(list, i), absl::StrCat("is ", member.uuid, ", which ",
                                                   PathOf(list, first), " is too: name it once"));
    } else if (member.product_name != known->product_name) {
      violations.Add(PathOf(list, i),
                     absl::StrCat("is of product \"", member.product_name, "\", but ", known->uuid,
                                  " is of product \"", known->product_name,
                                  "\": name devices of one product"));
    }
  }
  const auto named = static_cast<int64_t>(members.size());
  if (device_count >= 1 && device_count < named) {
    violations.Add("cluster.device_count", absl::StrCat("must be at least ", named, ", as many as ",
                                                        list, " names, not ", device_count));
  }
}

// Devices are named by the accelerator's name, by UUIDs of this host's, or by calibrations.
void CheckWays(const ClusterSpec& cluster, FieldViolations& violations) {
  const int ways = (cluster.accelerator.empty() ? 0 : 1) + (cluster.devices.empty() ? 0 : 1) +
                   (cluster.calibrations.empty() ? 0 : 1);
  // Lists too long to be read are at fault already.
  if (ways == 0 && !violations.Mentions("cluster.device_uuids") &&
      !violations.Mentions("cluster.calibrations")) {
    violations.Add("cluster.accelerator",
                   "is required: write a name of HardwareService.ListAccelerators, e.g. h100-sxm, "
                   "or else cluster.device_uuids or cluster.calibrations");
  }
  if (ways > 1) {
    violations.Add("cluster",
                   "names its devices more than once: write exactly one of accelerator, "
                   "device_uuids and calibrations");
  }
}

}  // namespace

void CheckCluster(const ClusterSpec& cluster, FieldViolations& violations) {
  CheckWays(cluster, violations);
  std::vector<Member> members;
  for (const NamedDevice& d : cluster.devices) members.push_back({d.uuid, d.product_name});
  CheckMembers("cluster.device_uuids", members, cluster.device_count, violations);
  if (!violations.Mentions("cluster.calibrations")) {
    members.clear();
    for (const DeviceCalibration& c : cluster.calibrations) {
      members.push_back({c.uuid, c.product_name});
    }
    CheckMembers("cluster.calibrations", members, cluster.device_count, violations);
  }
  violations.Require("cluster", "device_count", cluster.device_count, 1, kMaxDevices);
  if (cluster.peak_flops_per_second.has_value()) {
    violations.RequireRange("cluster", "peak_flops_per_second", *cluster.peak_flops_per_second,
                            {.low = 1, .high = kMaxPeak});
  }
  if (cluster.device_memory_bytes.has_value()) {
    violations.RequireRange("cluster", "device_memory_bytes", *cluster.device_memory_bytes, 1,
                            kMaxDeviceMemoryBytes);
  }
  if (cluster.reserved_memory_bytes.has_value()) {
    violations.RequireRange("cluster", "reserved_memory_bytes", *cluster.reserved_memory_bytes, 0,
                            kMaxDeviceMemoryBytes);
  }
}

}  // namespace sextant
