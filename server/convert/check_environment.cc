#include "server/convert/check_environment.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert/measurement_checker.h"

namespace sextant {
namespace {

constexpr int64_t kMostPcieGenerations = 16;
constexpr int64_t kMostLanes = 64;  // of PCI Express, and of NVLinks
constexpr int64_t kMostDevices = 4096;
constexpr int kMostTexts = 32;  // of a list
constexpr FieldViolations::RealRange kSetHertz = {.low = 0, .high = 1e12, .above_low = true};
constexpr FieldViolations::RealRange kSetWatts = {.low = 0, .high = 1e6, .above_low = true};
constexpr FieldViolations::RealRange kCostSeconds = {.low = 0, .high = 1e6};

class EnvironmentChecker : private MeasurementChecker {
 public:
  EnvironmentChecker(const v1::MeasurementEnvironment& m, const MessagePath& path,
                     FieldViolations& violations)
      : MeasurementChecker(violations), m_(m), path_(path) {}

  void Check() {
    Links();
    Settings();
    check_.Text({path_, "operating_system"}, m_.operating_system(), kMostNameBytes);
    check_.Text({path_, "kernel_release"}, m_.kernel_release(), kMostNameBytes);
    check_.Text({path_, "c_library"}, m_.c_library(), kMostNameBytes);
    Texts("libraries", m_.libraries());
    Texts("cleared_variables", m_.cleared_variables());
    if (m_.has_guard_cost()) Of(MessagePath(path_, "guard_cost"), m_.guard_cost());
  }

 private:
  void Whole(absl::string_view name, bool present, int64_t value, int64_t most) {
    if (present) check_.Whole({path_, name}, value, 1, most);
  }

  void Links() {
    Whole("pcie_generation", m_.has_pcie_generation(), m_.pcie_generation(), kMostPcieGenerations);
    Whole("pcie_lane_count", m_.has_pcie_lane_count(), m_.pcie_lane_count(), kMostLanes);
    Whole("maximum_pcie_generation", m_.has_maximum_pcie_generation(), m_.maximum_pcie_generation(),
          kMostPcieGenerations);
    Whole("maximum_pcie_lane_count", m_.has_maximum_pcie_lane_count(), m_.maximum_pcie_lane_count(),
          kMostLanes);
    Whole("nvlink_count", m_.has_nvlink_count(), m_.nvlink_count(), kMostLanes);
    if (m_.has_active_nvlink_count()) {
      check_.Whole({path_, "active_nvlink_count"}, m_.active_nvlink_count(), 0, m_.nvlink_count());
    }
  }

  void Settings() {
    const auto real = [this](absl::string_view name, bool present, double value,
                             FieldViolations::RealRange range) {
      if (present) check_.Real({path_, name}, value, range);
    };
    real("application_sm_clock_hertz", m_.has_application_sm_clock_hertz(),
         m_.application_sm_clock_hertz(), kSetHertz);
    real("application_memory_clock_hertz", m_.has_application_memory_clock_hertz(),
         m_.application_memory_clock_hertz(), kSetHertz);
    real("default_power_limit_watts", m_.has_default_power_limit_watts(),
         m_.default_power_limit_watts(), kSetWatts);
    Whole("visible_device_count", m_.has_visible_device_count(), m_.visible_device_count(),
          kMostDevices);
  }

  void Texts(absl::string_view name, const google::protobuf::RepeatedPtrField<std::string>& texts) {
    if (texts.size() > kMostTexts) {
      check_.Fault({path_, name},
                   absl::StrCat("has ", texts.size(), " elements: at most ", kMostTexts));
      return;
    }
    Each(path_, name, texts, [this](const MessagePath& element, const std::string& text) {
      check_.Text({element, ""}, text, kMostNameBytes);
    });
  }

  void Of(const MessagePath& path, const v1::GuardCost& m) {
    check_.Whole({path, "reading_count"}, m.reading_count(), 1, kMaxCount);
    check_.Real({path, "total_seconds"}, m.total_seconds(), kCostSeconds);
    check_.Real({path, "longest_seconds"}, m.longest_seconds(), kCostSeconds);
  }

  const v1::MeasurementEnvironment& m_;
  const MessagePath& path_;
};

}  // namespace

void CheckEnvironment(const v1::MeasurementEnvironment& m, const MessagePath& path,
                      FieldViolations& violations) {
  EnvironmentChecker(m, path, violations).Check();
}

}  // namespace sextant
