// Model FLOPs utilisation of an achieved time, and its interpretation.
#ifndef SEXTANT_ENGINE_OPERATION_UTILISATION_H_
#define SEXTANT_ENGINE_OPERATION_UTILISATION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/operation/roofline.h"

namespace sextant {

struct AchievedTime {
  Flops flops = {};  // of the model, without recomputation
  Seconds time = {};
  FlopsPerSecond peak = {};  // of one device, dense
  int64_t device_count = 1;
};

enum class UtilisationReading {
  kImpossible,  // above 1
  kGood,        // from 0.5
  kUsual,       // from 0.3
  kLow,         // from 0.1
  kWaiting,     // below
};

struct Utilisation {
  double ratio = 0;  // flops / (time x peak x devices)
  UtilisationReading reading = UtilisationReading::kWaiting;
  absl::string_view explanation;  // one or two sentences
};

// Source: Chowdhery et al. 2022 (arXiv 2204.02311) appendix B defines MFU. The bands are
// rules of thumb: published runs of dense models report 0.3 to 0.6.
//
// Errors: kInvalidArgument "flops" unless 0 to 1e40, "seconds" unless 1e-15 to 1e24,
// "peak_flops_per_second" unless 1 to 1e24, "device_count" unless 1 to 1e9.
absl::StatusOr<Utilisation> UtilisationOf(const AchievedTime& achieved);

// Interprets `utilisation` of an operation with that roofline. A memory-bound operation has a low
// utilisation even at its best, which does not mean that it waits.
std::string ExplanationOf(const Utilisation& utilisation, const Roofline& roofline,
                          Seconds achieved);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_UTILISATION_H_
