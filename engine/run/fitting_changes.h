// What to change where a run doesn't fit.
#ifndef SEXTANT_ENGINE_RUN_FITTING_CHANGES_H_
#define SEXTANT_ENGINE_RUN_FITTING_CHANGES_H_

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"

namespace sextant {

// FITS where the high end does; DOES_NOT_FIT where not even the low end does.
Verdict VerdictOf(const BytesInterval& process, Bytes usable);

struct FittingChanges {
  std::vector<FittingChange> changes;
  int64_t considered = 0;
};

// Of each setting the smallest change that makes `choice` fit for certain into `usable` bytes a
// device, the cheapest setting first. Where there is none, or only such as take more devices or
// make another run of it: first the cheapest pair of settings that does, by the sum of their places
// in RunSetting.
FittingChanges FindFittingChanges(const JobContext& context, const JobChoice& choice, Bytes usable);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_FITTING_CHANGES_H_
