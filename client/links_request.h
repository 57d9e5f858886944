// What `sextant links` asks for.
#ifndef SEXTANT_CLIENT_LINKS_REQUEST_H_
#define SEXTANT_CLIENT_LINKS_REQUEST_H_

#include <string>
#include <vector>

#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

struct LinksCommand {
  std::string name;                 // of a kind of server, or else of an accelerator
  v1::GetLinkTimesRequest request;  // but for that name and the calibrations
  std::vector<std::string> calibration_files;
  std::string svg_file;  // "" for none
};

// What people wrote for the request's `field`, and how they say what an error names.
std::string LinksFieldWords(const std::string& field);
std::string LinksDescription(const std::string& description);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LINKS_REQUEST_H_
