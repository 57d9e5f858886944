// This host's name.
#ifndef SEXTANT_SERVER_HOSTNAME_H_
#define SEXTANT_SERVER_HOSTNAME_H_

#include <string>

namespace sextant {

// As the probe writes it to Device.hostname; empty where the system does not tell.
std::string Hostname();

}  // namespace sextant

#endif  // SEXTANT_SERVER_HOSTNAME_H_
