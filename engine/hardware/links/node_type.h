// Servers by type: how many devices each holds, and what joins them.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// A figure of a node with where it was read. Absent is absent, never zero.
struct LinkFigure {
  double value = 0;
  absl::string_view source;  // empty: the vendor's datasheet, from memory
  bool present = false;

  constexpr explicit operator bool() const { return present; }
};

// "docs.nvidia.com, ...", or that it is from memory.
std::string SourceOf(const LinkFigure& figure);

// Rates are bytes a second of one device in one direction.
struct NodeType {
  absl::string_view name;                                 // the catalogue's key, "dgx-h100"
  absl::string_view product_name;                         // "NVIDIA DGX H100"
  absl::Span<const absl::string_view> accelerators = {};  // those that it comes with, by name
  absl::string_view collectives = "";  // whose published collectives are its own; empty: none's
  absl::string_view link = "";         // "NVLink 4 through NVSwitch"
  bool switch_reduces = false;         // NVLink SHARP: NVSwitch of the third generation and later
  int64_t device_count = 0;            // joined by `link`
  absl::string_view device_count_source = "";
  LinkFigure link_rate = {};
  LinkFigure host_rate = {};     // to the host's memory
  LinkFigure network_rate = {};  // absent: nodes of this type are sold with any network
  absl::string_view notes = "";
};

// By vendor and generation.
absl::Span<const NodeType> NodeTypes();

// The type whose name or product name has the ComparableName() of `name`.
//
// Errors: kNotFound with reason NODE_TYPE_UNKNOWN; the message lists near names.
absl::StatusOr<const NodeType*> FindNodeType(absl::string_view name);

// The types that the catalogue's `accelerator` comes in, in the order of NodeTypes().
std::vector<const NodeType*> NodeTypesOf(absl::string_view accelerator);

// Whether the catalogue's `accelerator` comes in `node`.
bool Holds(const NodeType& node, absl::string_view accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NODE_TYPE_H_
