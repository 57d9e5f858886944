#include "gpu_probe/host/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

// Hosts with more cores than a cpu_set_t has places need larger sets.
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

// Those that are threads of one core name the same siblings.
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

CoreSet UsableCores(const std::string& root, absl::optional<double> core_quota) {
  CoreSet out = {.numbers = OneOfEachCore(root, ProcessorsOfAffinity())};
  if (core_quota && *core_quota < static_cast<double>(out.numbers.size())) {
    out.numbers.resize(static_cast<size_t>(std::max(1.0, std::floor(*core_quota))));
    out.pinned = false;
  }
  return out;
}

}  // namespace sextant
