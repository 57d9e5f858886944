// What the system says of the host: memory, limits of the control group, cache, name. All
// readers take text, and none guesses: what is missing or damaged is absent.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant {

struct HostFacts {
  absl::optional<int64_t> memory_bytes = {};            // the group's limit where lower
  absl::optional<int64_t> available_memory_bytes = {};  // what may be taken without swapping
  absl::optional<double> core_quota = {};               // cores' worth of time, the group's limit
  std::string machine_id;                               // empty where there is none
};

// Reads /proc, /sys and /etc below `root` ("" is this host's own root).
HostFacts ReadHostFacts(const std::string& root);

// `key`'s value in /proc/meminfo's text, in bytes: MeminfoBytes(text, "MemTotal").
absl::optional<int64_t> MeminfoBytes(absl::string_view text, absl::string_view key);

// A control group's limit in bytes; absent for "max" (version 2) and for version 1's number
// that stands for none.
absl::optional<int64_t> GroupLimitBytes(absl::string_view text);

// cpu.max of version 2, "quota period": cores' worth; absent for "max".
absl::optional<double> GroupCoreQuota(absl::string_view text);

// The path of this process's group in /proc/self/cgroup's text: the line of version 2
// ("0::/path"), or the one of version 1's `controller`. Empty where there is no such line.
std::string GroupPath(absl::string_view text, absl::string_view controller);

// All last-level caches of `cores` together: a processor of several dies has several, and what
// one of them can't hold they hold between them. Absent where /sys below `root` tells of none.
absl::optional<int64_t> LastLevelCacheBytes(const std::string& root, const std::vector<int>& cores);

// A cache's size as /sys spells it: "32768K", "260M". In bytes.
absl::optional<int64_t> CacheSizeBytes(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_
