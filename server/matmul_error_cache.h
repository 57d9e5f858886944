// Prediction errors of calibrations, computed once each.
#ifndef SEXTANT_SERVER_MATMUL_ERROR_CACHE_H_
#define SEXTANT_SERVER_MATMUL_ERROR_CACHE_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "server/calibration_snapshot.h"
#include "server/convert/matmul_errors.h"

namespace sextant {

// Thread-safe. A fit takes milliseconds, too long for every scrape, and nobody needs it while the
// metrics show the fleet's set.
class MatmulErrorCache {
 public:
  // MatmulErrorsOf() the calibrations of `snapshot` that are in use, computed where they are new;
  // forgets all others.
  void Update(const CalibrationSnapshot& snapshot, const CalibrationQuery& query);

  // Of one that was in the last Update(); nothing of others.
  std::vector<MatmulError> Of(const StoredCalibration& stored) const;

 private:
  struct Known {
    std::shared_ptr<const StoredCalibration> stored;  // kept, so that its address stays its own
    std::vector<MatmulError> errors;
  };

  mutable std::mutex mutex_;
  std::map<const StoredCalibration*, Known> known_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_MATMUL_ERROR_CACHE_H_
