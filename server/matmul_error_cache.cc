#include "server/matmul_error_cache.h"

#include <utility>

namespace sextant {

void MatmulErrorCache::Update(const CalibrationSnapshot& snapshot, const CalibrationQuery& query) {
  // Held while it computes: of two scrapes at once the second waits for the first's figures.
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<const StoredCalibration*, Known> next;
  for (const DeviceCalibrations& kept : snapshot.calibrations) {
    const std::shared_ptr<const StoredCalibration> stored = snapshot.InUse(kept, query);
    const auto found = known_.find(stored.get());
    next[stored.get()] = found != known_.end() ? std::move(found->second)
                                               : Known{stored, MatmulErrorsOf(stored->calibration)};
  }
  known_ = std::move(next);
}

std::vector<MatmulError> MatmulErrorCache::Of(const StoredCalibration& stored) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(&stored);
  return found == known_.end() ? std::vector<MatmulError>() : found->second.errors;
}

}  // namespace sextant
