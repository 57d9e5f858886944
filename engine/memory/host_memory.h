// The need for host memory of the fullest server of a run, and whether a server has it.
// Derivation: docs/memory.md, "Host memory".
#ifndef SEXTANT_ENGINE_MEMORY_HOST_MEMORY_H_
#define SEXTANT_ENGINE_MEMORY_HOST_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/memory/fit.h"

namespace sextant {

// The share of a server's memory up to which state in it fits. The rest is for the operating
// system, the page cache, data loaders and pinned buffers: a rule of ours, docs/memory.md, "Host
// memory".
inline constexpr double kHostMemoryShare = 0.8;

// The devices of a server whose kind is not known: as many as most servers take.
inline constexpr int64_t kUnknownServerDevices = 8;

// A server that runs one operating system.
struct HostServer {
  int64_t device_count = kUnknownServerDevices;  // that share its memory
  absl::optional<Bytes> memory = {};             // absent: not known
  bool whole = false;         // all of it is the run's, however few of the devices it has
  std::string name = {};      // "dgx-a100"; empty: of no known kind
  std::string citation = {};  // of `memory`

  // The part of `memory`, which is known, that belongs to the devices of a run of `devices`.
  Bytes ShareOf(int64_t devices) const;
};

// The server that holds the most, of servers that are filled one after another: ranks are in order,
// the stages of the pipeline outermost, as Megatron-LM's default order "tp-cp-ep-dp-pp" has them
// (NVIDIA/Megatron-LM, megatron/core/parallel_state.py; docs/step_time.md, "Ranks on servers").
class FullestServer {
 public:
  explicit FullestServer(int64_t devices_a_server) : capacity_(devices_a_server) {}

  // Appends `devices`, each of which holds `each` on its host. Constant time.
  void Add(int64_t devices, Bytes each);

  // Its bytes; the largest int64 where that is more.
  Bytes need() const { return Bytes(std::max(current_, most_)); }

 private:
  const int64_t capacity_;
  int64_t room_ = 0;     // devices that the current server has yet to take
  int64_t current_ = 0;  // its bytes
  int64_t most_ = 0;     // of the others
};

// The need of the fullest server against what one has.
struct HostFit {
  Bytes need = Bytes(0);
  HostServer server = {};
  Verdict verdict = Verdict::kFits;
};

// For a run of `devices`: kFits where nothing is needed, or at most kHostMemoryShare of ShareOf();
// kTight up to all of the server's memory, and where that is not known.
Verdict HostVerdictOf(Bytes need, const HostServer& server, int64_t devices);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_HOST_MEMORY_H_
