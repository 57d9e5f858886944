// What `sextant rates` asks for.
#ifndef SEXTANT_CLIENT_RATES_REQUEST_H_
#define SEXTANT_CLIENT_RATES_REQUEST_H_

#include <string>
#include <vector>

#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

struct RatesCommand {
  v1::GetKernelRatesRequest request;
  std::vector<std::string> calibration_files;
  std::string svg_file;  // "" for none
};

// Names a device of the request: "host" or a UUID of the server's, else one of the catalogue.
// Returns what is wrong with naming it, "" where nothing is.
std::string AddRatesDevice(const std::string& name, v1::GetKernelRatesRequest* request);

// What people wrote for the request's `field`.
std::string RatesFieldWords(const std::string& field);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_RATES_REQUEST_H_
