// Server types: the number of their devices, and the links between them.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// A node's figure with its source. A missing figure is absent, never zero.
struct LinkDatum {
  double value = 0;
  absl::string_view source;  // empty: the vendor's datasheet, from memory
  bool present = false;

  constexpr explicit operator bool() const { return present; }
};

// "docs.nvidia.com, ...", or text saying that it is from memory.
std::string SourceOf(const LinkDatum& figure);

// Rates are bytes per second of one device in one direction, but for host_memory_rate.
struct NodeType {
  absl::string_view name;                                 // the catalogue's key, "dgx-h100"
  absl::string_view product_name;                         // "NVIDIA DGX H100"
  absl::Span<const absl::string_view> accelerators = {};  // its accelerators, by name
  absl::string_view collectives = "";  // accelerator with its published collectives; empty: none
  absl::string_view link = "";         // "NVLink 4 through NVSwitch"
  bool switch_reduces = false;         // NVLink SHARP: NVSwitch of the third generation and later
  int64_t device_count = 0;            // joined by `link`
  absl::string_view device_count_source = "";
  LinkDatum link_rate = {};
  LinkDatum host_rate = {};  // to the host's memory
  // The host's memory rate, shared by all devices of the node: reads and writes at the line rate.
  // Absent: sold with any processors.
  LinkDatum host_memory_rate = {};
  // Bytes of the memory of one operating system's processors: one of each of `accelerators`, or one
  // for all. None: sold with any.
  absl::Span<const LinkDatum> host_memory = {};
  int64_t host_device_count = 0;  // devices that share it; 0: all
  LinkDatum network_rate = {};    // absent: sold with any network
  absl::string_view notes = "";
};

// By vendor and generation.
absl::Span<const NodeType> NodeTypes();

// The type whose name or product name has the ComparableName() of `name`.
//
// Errors: kNotFound with reason NODE_TYPE_UNKNOWN; the message lists near names.
absl::StatusOr<const NodeType*> FindNodeType(absl::string_view name);

// The types that contain the catalogue's `accelerator`, in the order of NodeTypes().
std::vector<const NodeType*> NodeTypesOf(absl::string_view accelerator);

// The memory of `node`'s processors with `accelerator`, or with the first of its accelerators.
LinkDatum HostMemoryOf(const NodeType& node, absl::string_view accelerator);

// The devices of `node` that share that memory.
int64_t HostDevicesOf(const NodeType& node);

// True where `node` contains the catalogue's `accelerator`.
bool Holds(const NodeType& node, absl::string_view accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_
