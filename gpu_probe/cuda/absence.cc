#include "gpu_probe/cuda/absence.h"

#include "engine/base/reason.h"

namespace sextant {
namespace {

constexpr char kDriverVersion[] = "driver_version";

}  // namespace

absl::Status Absent(absl::string_view word, absl::string_view sentence) {
  return WithMetadata(absl::NotFoundError(sentence), "reason", word);
}

absl::Status AbsentBesideDriver(absl::string_view word, absl::string_view sentence,
                                absl::string_view driver_version) {
  return WithMetadata(Absent(word, sentence), kDriverVersion, driver_version);
}

bool IsPlainlyAbsent(const absl::Status& absent) {
  bool without_driver = false;
  for (const auto& [key, value] : MetadataOf(absent)) {
    if (key == kDriverVersion) return false;
    if (key == "reason" && value == kNoDriver) without_driver = true;
  }
  return without_driver;
}

}  // namespace sextant
