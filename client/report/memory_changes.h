// The changes that make a run fit.
#ifndef SEXTANT_CLIENT_REPORT_MEMORY_CHANGES_H_
#define SEXTANT_CLIENT_REPORT_MEMORY_CHANGES_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// "--zero=optimizer (now none) makes it fit: 73.91 GiB; costs no time (and 4 more ways)": the
// cheapest change to a run with a layout that does not surely fit; "" where there is none to make.
std::string NearestChange(const v1::Plan& plan);

// All changes to a run with a layout, after an empty line and a title; "" where it fits.
std::string ChangesSection(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_MEMORY_CHANGES_H_
