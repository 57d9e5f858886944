#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/fingerprint.h"
#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/host_backend.h"
#include "gpu_probe/host/host_facts.h"
#include "gpu_probe/host/usable_cores.h"
#include "gpu_probe/host_name.h"

namespace sextant {
namespace {

std::string Uuid(const std::string& identity, const std::string& product_name) {
  Fingerprint fingerprint;
  fingerprint.Add(identity);
  fingerprint.Add(product_name);
  return absl::StrCat("CPU-", fingerprint.ToString());
}

// Where /proc is not there: sysconf asks the kernel itself.
absl::optional<int64_t> PhysicalMemoryBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return absl::nullopt;
  return pages * page_bytes;
}

}  // namespace

v1::Device HostDevice() {
  const HostFacts facts = ReadHostFacts("");
  v1::Device device;
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_product_name(ProcessorName());
  device.set_hostname(HostName());
  device.set_uuid(
      Uuid(facts.machine_id.empty() ? device.hostname() : facts.machine_id, device.product_name()));
  const auto memory_bytes = facts.memory_bytes ? facts.memory_bytes : PhysicalMemoryBytes();
  if (memory_bytes) device.set_memory_bytes(*memory_bytes);
  const std::vector<int> cores = UsableCores("", facts.core_quota).numbers;
  const auto told_bytes = LastLevelCacheBytes("", cores);
  const auto cache_bytes = told_bytes ? told_bytes : CacheBytesFromCpuid();
  if (cache_bytes) device.set_cache_bytes(*cache_bytes);
  device.set_compute_unit_count(static_cast<int64_t>(cores.size()));
  for (const std::string& name : InstructionSetNames(DetectCpuFeatures())) {
    device.add_instruction_sets(name);
  }
  return device;
}

}  // namespace sextant
