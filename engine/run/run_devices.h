// The devices of a run: their figures, each from the best source that has it, their servers,
// network and host.
#ifndef SEXTANT_ENGINE_RUN_RUN_DEVICES_H_
#define SEXTANT_ENGINE_RUN_RUN_DEVICES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/placement.h"
#include "engine/hardware/rates.h"
#include "engine/memory/fit.h"
#include "engine/memory/host_memory.h"
#include "engine/run/run_spec.h"
#include "engine/time/offload_time.h"

namespace sextant {

// Points into the RunSpec.
struct RunDevices {
  absl::string_view device_name = "";          // the catalogue's name, or else the device's own
  const Accelerator* accelerator = nullptr;    // its datasheet; null: not in the catalogue
  absl::optional<MeasuredGang> measured = {};  // absent: an accelerator was named
  absl::optional<FlopsPerSecond> peak = {};    // absent: neither request nor datasheet has it
  DeviceCapacity capacity = {};
  absl::optional<Watts> device_power = {};  // absent where no source has it
  bool measured_power = false;              // that it was measured
  const NodeType* node = nullptr;           // null: none of the product is known
  HostServer server = {};                   // that the devices are in, where there is a layout
  absl::optional<Network> network = {};     // absent: not given, and the node type says none
  // The host's rates: looked up if the layout offloads, or a search may. 0: unknown.
  HostRates host = {};
  std::vector<Rate> rates = {};  // the figures above, with their sources

  // The source of the rate that the times use: the measured rate, or else the peak. The datasheet
  // where neither is known, and there are no times.
  RateSource matmul_source() const;
};

// Whose figures to find: those of the devices of `run`, which compute in `type` and are the product
// `named`, where an accelerator's name was given and found.
struct DevicesAsked {
  const RunSpec& run;
  const Accelerator* named = nullptr;
  DataType type = DataType::kUnspecified;
};

// Fills in the devices of a run. Leaves figures empty where the request's calibrations are invalid
// or nothing is known of the devices. Appends to `violations` figures that no source has, memory
// that leaves nothing to use, and servers and networks that are unknown.
void FindDevices(const DevicesAsked& asked, RunDevices& out, FieldViolations& violations);

// PinnedHostLink() of the devices of `run`.
absl::optional<BytesPerSecond> HostLinkOf(const RunSpec& run, const RunDevices& devices,
                                          std::vector<Rate>& used);

// Where `cluster` has more devices than a server, or leaves their number open, fills in what it
// says nothing of: the usual server of its product, and that server's usual network. Leaves it as
// it is where the network is neither given nor known. `cluster` is as the request has it.
void AssumeNodes(ClusterSpec& cluster);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_DEVICES_H_
