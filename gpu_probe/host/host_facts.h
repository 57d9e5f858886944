// The system's description of the host: memory, limits of the control group, caches, name, and the
// cores that this process may run on. All readers take text or a root folder, and none guesses:
// missing or damaged values are absent.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant::probe {

struct HostFacts {
  absl::optional<int64_t> memory_bytes = {};            // the group's limit where lower
  absl::optional<int64_t> available_memory_bytes = {};  // available without swapping
  absl::optional<double> core_quota = {};               // the group's limit of time, in cores
  std::string machine_id;                               // empty where there is none
};

// Reads /proc, /sys and /etc below `root` ("" is this host's own root).
HostFacts ReadHostFacts(const std::string& root);

// The value of `key` in the text of /proc/meminfo, in bytes: MeminfoBytes(text, "MemTotal").
absl::optional<int64_t> MeminfoBytes(absl::string_view text, absl::string_view key);

// A control group's limit in bytes; absent for "max" (version 2) and for version 1's number that
// means no limit.
absl::optional<int64_t> GroupLimitBytes(absl::string_view text);

// cpu.max of version 2, "quota period", as a number of cores; absent for "max".
absl::optional<double> GroupCoreQuota(absl::string_view text);

// The path of this process's group from the text of /proc/self/cgroup: the line of version 2
// ("0::/path"), or that of version 1's `controller`. Empty without such a line.
std::string GroupPath(absl::string_view text, absl::string_view controller);

// Bytes of all last-level caches of `cores` together: a processor of several dies has several, and
// data that exceeds one of them may still fit into all. Absent where /sys below `root` reports
// none.
absl::optional<int64_t> LastLevelCacheBytes(const std::string& root, const std::vector<int>& cores);

// A cache's size in bytes, from the text of /sys: "32768K", "260M".
absl::optional<int64_t> CacheSizeBytes(absl::string_view text);

struct CoreSet {
  // One processor number of each core, as the system counts them.
  std::vector<int> numbers;
  // True where threads should stay on their cores. False where the process may use only a share of
  // the cores' time: other processes with a share may also run on the first cores.
  bool pinned = true;
};

// The cores that the process may run on, at least one. Of the processors that are threads of one
// core (SMT) it takes the first: kernels that keep a core's units busy with one thread gain nothing
// from a second, and frameworks start one a core. Where the control group limits the time to
// `core_quota` cores, takes only that many, rounded down: the system would pause further threads in
// turn, and their times would include the pauses. Reads /sys below `root` ("" is this host's own
// root); where it does not describe threads, each processor counts as a core.
CoreSet UsableCores(const std::string& root, absl::optional<double> core_quota);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_FACTS_H_
