#include "server/store/supplied_calibrations.h"

#include <functional>
#include <string_view>
#include <utility>

#include "server/convert/calibration.h"

namespace sextant::server {

std::shared_ptr<const DeviceModel> SuppliedCalibrations::ModelOf(const v1::Calibration& calibration,
                                                                 absl::string_view path,
                                                                 FieldViolations& violations) {
  // No maps and one version of protobuf a build: equal messages have equal bytes.
  std::string bytes = calibration.SerializeAsString();
  auto& set = sets_[std::hash<std::string_view>()(bytes) % kSetCount];
  Slot* empty = nullptr;
  for (Slot& slot : set) {
    const std::shared_ptr<const Kept> kept = slot.load();
    if (kept == nullptr) {
      empty = &slot;
    } else if (kept->bytes == bytes) {
      return kept->model;
    }
  }
  const size_t faults_before = violations.found_count();
  std::shared_ptr<const DeviceModel> model = CheckedModelFrom(calibration, path, violations);
  const bool sound =
      violations.found_count() == faults_before && !model->calibration().uuid.empty();
  if (sound && bytes.size() <= kMaxKeptBytes) {
    if (empty == nullptr) empty = &set[next_way_.fetch_add(1) % kWayCount];
    empty->store(std::make_shared<const Kept>(Kept{std::move(bytes), model}));
  }
  return model;
}

}  // namespace sextant::server
