// The accelerators that Sextant knows, by catalogue name and by the name that a device reports.
#ifndef SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_
#define SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/hardware/accelerator.h"

namespace sextant {

// By vendor, then oldest first. Built at the first call.
const std::vector<Accelerator>& Accelerators();

// The entries of Accelerators() that have a PeakFlopsPerSecond() in `type`, in the same order.
std::vector<const Accelerator*> AcceleratorsComputingIn(DataType type);

// The accelerator whose name or product name has the ComparableName() of `name`; null: none. A
// family's name alone ("h100") matches several, so it finds none.
const Accelerator* AcceleratorNamed(absl::string_view name);

// The accelerator that a user means by `name`: AcceleratorReportedAs(); a generic resource of Slurm
// ("gpu:h100:8"); or a family's name whose members in SXM modules have one size of memory ("h100"
// is h100-sxm, but "a100" is none: there are two).
//
// Errors: kNotFound with reason GPU_UNKNOWN; the message lists near names.
absl::StatusOr<const Accelerator*> FindAccelerator(absl::string_view name);

// The catalogue's row of a device that reports itself as `reported` ("NVIDIA H100 80GB HBM3"): a
// name or product name of the catalogue, with or without the vendor's name in front, or a known
// driver name; so does Kubernetes' label nvidia.com/gpu.product. Null for anything else: never the
// nearest.
const Accelerator* AcceleratorReportedAs(absl::string_view reported);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_CATALOGUE_H_
