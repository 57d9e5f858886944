// Which devices a command line means, of all backends that this program has.
#ifndef SEXTANT_GPU_PROBE_CHOOSE_DEVICE_H_
#define SEXTANT_GPU_PROBE_CHOOSE_DEVICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/options.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// What --list shows.
struct ListedDevices {
  std::vector<v1::Device> devices;  // of the first backend first; never empty
  std::vector<std::string> notes;   // why another backend's are missing, in full sentences
};

// The devices of the backend that `backend_name` names; with "auto" those of all.
//
// Errors: kUnimplemented where this program has no such backend; the first backend's where none has
// a device.
absl::StatusOr<ListedDevices> ListDevices(const std::string& backend_name,
                                          absl::Span<const Backend> backends);

struct ChosenDevice {
  const Backend* backend = nullptr;
  v1::Device device;               // as Backend::choices() has it
  std::vector<std::string> notes;  // on the choice, in full sentences, for the calibration
};

// options.device, or the first that ListDevices() would show.
//
// Errors: ListDevices()'s; kNotFound where there is no such device, with the metadata "reason" of
// the backend that could not tell its devices, where one could not.
absl::StatusOr<ChosenDevice> ChooseDevice(const ProbeOptions& options,
                                          absl::Span<const Backend> backends);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CHOOSE_DEVICE_H_
