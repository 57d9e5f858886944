// From the name that a device gives itself to its row of the catalogue.
#ifndef SEXTANT_ENGINE_HARDWARE_REPORTED_NAMES_H_
#define SEXTANT_ENGINE_HARDWARE_REPORTED_NAMES_H_

#include "absl/strings/string_view.h"
#include "engine/hardware/accelerator.h"

namespace sextant {

// The catalogue's row of the device that reports itself as `reported` ("NVIDIA H100 80GB
// HBM3"): a name or product name of the catalogue, the vendor's name before it or not, or one
// of the names that drivers are known to report. Null for anything else: never the nearest.
const Accelerator* AcceleratorReportedAs(absl::string_view reported);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REPORTED_NAMES_H_
