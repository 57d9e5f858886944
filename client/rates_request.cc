#include "client/rates_request.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/operation_request.h"

namespace sextant {

std::string AddRatesDevice(const std::string& name, v1::GetKernelRatesRequest* request) {
  v1::OperationDevice device;
  SetDevice(name, &device);
  if (!device.device_uuid().empty()) {
    request->add_device_uuids(device.device_uuid());
    return "";
  }
  if (!request->accelerator().empty()) {
    return absl::StrCat("only one product can be named, and ", request->accelerator(),
                        " already is: leave out ", name);
  }
  request->set_accelerator(name);
  return "";
}

std::string RatesFieldWords(const std::string& field) {
  if (field == "accelerator" || absl::StartsWith(field, "device_uuids")) return "DEVICE";
  if (absl::StartsWith(field, "calibrations")) {
    return absl::StrCat("--calibration", absl::StripPrefix(field, "calibrations"));
  }
  if (absl::StartsWith(field, "data_types")) return "--dtype";
  return field;
}

}  // namespace sextant
