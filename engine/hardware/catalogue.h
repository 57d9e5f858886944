// The accelerators that Sextant knows by name.
#ifndef SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_
#define SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/hardware/accelerator.h"

namespace sextant {

// By vendor, then from older to newer. Built at the first call.
const std::vector<Accelerator>& Accelerators();

// Those of Accelerators() that have a PeakFlopsPerSecond() in `type`, in the same order.
std::vector<const Accelerator*> AcceleratorsComputingIn(DataType type);

// The accelerator whose name or product name has the ComparableName() of `name`; null: none. A
// family's name alone ("h100") names several, hence none.
const Accelerator* AcceleratorNamed(absl::string_view name);

// AcceleratorNamed(), for a name that someone wrote.
//
// Errors: kNotFound with reason GPU_UNKNOWN; the message lists near names.
absl::StatusOr<const Accelerator*> FindAccelerator(absl::string_view name);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_
