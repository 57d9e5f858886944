#include "gpu_probe/host/host_facts.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/base/checked_math.h"

namespace sextant::probe {
namespace {

constexpr int64_t kKib = 1024;

// Version 1 writes "no limit" as the largest multiple of a page; no host has 2^60 bytes.
constexpr int64_t kNoLimitBytes = int64_t{1} << 60;

// Empty where the file can't be read: callers treat that as an absent figure.
std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::optional<int64_t> PositiveInteger(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value <= 0) return absl::nullopt;
  return value;
}

template <typename Number>
void KeepLower(absl::optional<Number> candidate, absl::optional<Number>* lowest) {
  if (!candidate) return;
  *lowest = *lowest ? std::min(**lowest, *candidate) : *candidate;
}

// `path` and all groups above it, the root ("") last: a group's limit applies to all groups below
// it.
std::vector<std::string> GroupAndAncestors(std::string path) {
  std::vector<std::string> out;
  while (!path.empty() && path != "/") {
    out.push_back(path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  out.emplace_back();
  return out;
}

// The bytes that the group may still use: its limit minus its usage.
absl::optional<int64_t> RoomBytes(absl::optional<int64_t> limit_bytes,
                                  const std::string& usage_text) {
  const absl::optional<int64_t> used_bytes =
      PositiveInteger(absl::StripAsciiWhitespace(usage_text));
  if (!limit_bytes || !used_bytes) return limit_bytes;
  return std::max<int64_t>(*limit_bytes - *used_bytes, 0);
}

void KeepMemory(const std::string& limit_file, const std::string& usage_file, HostFacts* facts) {
  const auto limit = GroupLimitBytes(FileText(limit_file));
  KeepLower(limit, &facts->memory_bytes);
  KeepLower(RoomBytes(limit, FileText(usage_file)), &facts->available_memory_bytes);
}

void ReadGroupsOfVersion2(const std::string& root, const std::string& groups, HostFacts* facts) {
  for (const std::string& group : GroupAndAncestors(GroupPath(groups, ""))) {
    const std::string folder = absl::StrCat(root, "/sys/fs/cgroup", group);
    KeepMemory(folder + "/memory.max", folder + "/memory.current", facts);
    KeepLower(GroupCoreQuota(FileText(folder + "/cpu.max")), &facts->core_quota);
  }
}

void ReadGroupsOfVersion1(const std::string& root, const std::string& groups, HostFacts* facts) {
  for (const std::string& group : GroupAndAncestors(GroupPath(groups, "memory"))) {
    const std::string folder = absl::StrCat(root, "/sys/fs/cgroup/memory", group);
    KeepMemory(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes", facts);
  }
  for (const std::string& group : GroupAndAncestors(GroupPath(groups, "cpu"))) {
    const std::string folder = absl::StrCat(root, "/sys/fs/cgroup/cpu", group);
    KeepLower(GroupCoreQuota(absl::StrCat(FileText(folder + "/cpu.cfs_quota_us"), " ",
                                          FileText(folder + "/cpu.cfs_period_us"))),
              &facts->core_quota);
  }
}

// The largest of one core's caches: its size, and the cores that share it, as /sys writes both.
struct Cache {
  int64_t size_bytes = 0;
  std::string sharers;
};
Cache LargestCacheOf(const std::string& root, int core) {
  constexpr int kMaxCacheCount = 16;
  Cache largest;
  for (int i = 0; i < kMaxCacheCount; ++i) {
    const std::string folder =
        absl::StrCat(root, "/sys/devices/system/cpu/cpu", core, "/cache/index", i);
    const auto size_bytes = CacheSizeBytes(FileText(folder + "/size"));
    if (!size_bytes || *size_bytes <= largest.size_bytes) continue;
    largest = {.size_bytes = *size_bytes, .sharers = FileText(folder + "/shared_cpu_list")};
  }
  return largest;
}

// Hosts with more cores than a cpu_set_t holds need larger sets.
constexpr int kMaxCoreCount = 1 << 16;

std::vector<int> ProcessorsOfAffinity() {
  std::vector<int> cores;
  for (int count = CPU_SETSIZE; count <= kMaxCoreCount; count *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(count));
    if (set == nullptr) break;
    const size_t set_bytes = CPU_ALLOC_SIZE(static_cast<size_t>(count));
    CPU_ZERO_S(set_bytes, set);
    const bool read = sched_getaffinity(0, set_bytes, set) == 0;
    for (int i = 0; read && i < count; ++i) {
      if (CPU_ISSET_S(static_cast<size_t>(i), set_bytes, set)) cores.push_back(i);
    }
    CPU_FREE(set);
    if (read) break;
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

// Processors that are threads of one core list the same siblings.
std::vector<int> OneOfEachCore(const std::string& root, const std::vector<int>& processors) {
  std::vector<int> cores;
  std::set<std::string> seen;
  for (const int processor : processors) {
    std::ifstream file(absl::StrCat(root, "/sys/devices/system/cpu/cpu", processor,
                                    "/topology/thread_siblings_list"));
    std::string siblings;
    if (!std::getline(file, siblings) || seen.insert(siblings).second) cores.push_back(processor);
  }
  return cores;
}

}  // namespace

absl::optional<int64_t> MeminfoBytes(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, ":")) continue;
    if (!absl::ConsumeSuffix(&line, "kB")) return absl::nullopt;
    const auto kibibytes = PositiveInteger(absl::StripAsciiWhitespace(line));
    if (!kibibytes) return absl::nullopt;
    const CheckedInt bytes = CheckedInt(*kibibytes) * kKib;
    if (!bytes.ok()) return absl::nullopt;
    return bytes.value();
  }
  return absl::nullopt;
}

absl::optional<int64_t> GroupLimitBytes(absl::string_view text) {
  const auto bytes = PositiveInteger(absl::StripAsciiWhitespace(text));
  if (!bytes || *bytes >= kNoLimitBytes) return absl::nullopt;
  return bytes;
}

absl::optional<double> GroupCoreQuota(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (words.size() != 2) return absl::nullopt;
  const auto quota = PositiveInteger(words[0]);
  const auto period = PositiveInteger(words[1]);
  if (!quota || !period) return absl::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string GroupPath(absl::string_view text, absl::string_view controller) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    const bool found =
        std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    // This process can't see above its namespace's root.
    if (found && !absl::StrContains(parts[2], "..")) return std::string(parts[2]);
  }
  return "";
}

absl::optional<int64_t> CacheSizeBytes(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  int64_t unit = 1;
  if (absl::ConsumeSuffix(&text, "K")) {
    unit = kKib;
  } else if (absl::ConsumeSuffix(&text, "M")) {
    unit = kKib * kKib;
  }
  const auto count = PositiveInteger(text);
  if (!count) return absl::nullopt;
  const CheckedInt bytes = CheckedInt(*count) * unit;
  if (!bytes.ok()) return absl::nullopt;
  return bytes.value();
}

absl::optional<int64_t> LastLevelCacheBytes(const std::string& root,
                                            const std::vector<int>& cores) {
  std::map<std::string, int64_t> bytes_by_sharers;
  for (const int core : cores) {
    const Cache cache = LargestCacheOf(root, core);
    if (cache.size_bytes > 0) bytes_by_sharers[cache.sharers] = cache.size_bytes;
  }
  CheckedInt sum(0);
  for (const auto& [sharers, size_bytes] : bytes_by_sharers) sum = sum + size_bytes;
  if (bytes_by_sharers.empty() || !sum.ok()) return absl::nullopt;
  return sum.value();
}

HostFacts ReadHostFacts(const std::string& root) {
  HostFacts facts;
  const std::string meminfo = FileText(root + "/proc/meminfo");
  facts.memory_bytes = MeminfoBytes(meminfo, "MemTotal");
  facts.available_memory_bytes = MeminfoBytes(meminfo, "MemAvailable");
  const std::string groups = FileText(root + "/proc/self/cgroup");
  ReadGroupsOfVersion2(root, groups, &facts);
  ReadGroupsOfVersion1(root, groups, &facts);
  const std::string machine_id = FileText(root + "/etc/machine-id");
  facts.machine_id = std::string(absl::StripAsciiWhitespace(machine_id));
  return facts;
}

CoreSet UsableCores(const std::string& root, absl::optional<double> core_quota) {
  CoreSet out = {.numbers = OneOfEachCore(root, ProcessorsOfAffinity())};
  if (core_quota && *core_quota < static_cast<double>(out.numbers.size())) {
    out.numbers.resize(static_cast<size_t>(std::max(1.0, std::floor(*core_quota))));
    out.pinned = false;
  }
  return out;
}

}  // namespace sextant::probe
