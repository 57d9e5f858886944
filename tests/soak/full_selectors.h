// Devices with as many measurements as a request holds.
#ifndef SEXTANT_TESTS_SOAK_FULL_SELECTORS_H_
#define SEXTANT_TESTS_SOAK_FULL_SELECTORS_H_

#include <string>
#include <utility>
#include <vector>

#include "sextant/v1/device_selector.pb.h"

namespace sextant::server {

// How many measurements of each kind: products and attentions are of each of `types` types.
struct Measured {
  int types = 1;
  int products = 0;
  int attentions = 0;
};

v1::DeviceSelector CalibrationsOf(int count, Measured measured);

// Selectors with up to a megabyte of measurements, spread differently.
std::vector<std::pair<std::string, v1::DeviceSelector>> FullSelectors();

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SOAK_FULL_SELECTORS_H_
