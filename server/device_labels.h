// The labels that all series of a device carry.
#ifndef SEXTANT_SERVER_DEVICE_LABELS_H_
#define SEXTANT_SERVER_DEVICE_LABELS_H_

#include <vector>

#include "server/gauge_families.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// Of each of `devices`, this host's: UUID, gpu, pci_bus_id, modelName and hostname, as
// dcgm-exporter spells them. `gpu` is a number among the GPUs, "cpu" for processors.
std::vector<Labels> DeviceLabels(const std::vector<v1::Device>& devices);

}  // namespace sextant

#endif  // SEXTANT_SERVER_DEVICE_LABELS_H_
