// What all measurements of a calibration are checked for alike.
#ifndef SEXTANT_SERVER_CONVERT_MEASUREMENT_CHECKER_H_
#define SEXTANT_SERVER_CONVERT_MEASUREMENT_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/convert/field_checker.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

class MeasurementChecker {
 public:
  // Of any list: nearly twice the most that the probe measures.
  static constexpr int kMaxElements = 2048;
  static constexpr size_t kMostNameBytes = 256;
  static constexpr int64_t kMaxBytes = 1'000'000'000'000'000;
  static constexpr int64_t kMaxCount = 1'000'000'000'000;
  static constexpr FieldViolations::RealRange kSeconds = {.low = 0, .high = 1e6, .above_low = true};
  // From 1, so that no time of a plan is infinite.
  static constexpr FieldViolations::RealRange kRate = {.low = 1, .high = 1e18};

 protected:
  explicit MeasurementChecker(FieldViolations& violations) : check_(violations) {}

  // A name that has to be given.
  void Name(FieldChecker::Field field, const std::string& text);

  void Type(const MessagePath& path, v1::DataType type);

  void Time(const MessagePath& path, absl::string_view name, bool present,
            const v1::TimeStatistics& m);

  // A rate that shape and time beside it give.
  void RateOf(FieldChecker::Field field, double rate, double expected);

  // Each element of a list by `check(path, element)`, until there is no use in going on.
  template <typename Elements, typename CheckElement>
  void Each(const MessagePath& path, absl::string_view name, const Elements& elements,
            CheckElement check) {
    if (elements.size() > kMaxElements) {
      check_.Fault({path, name},
                   absl::StrCat("has ", elements.size(), " elements: at most ", kMaxElements));
      return;
    }
    int index = 0;
    for (const auto& element : elements) {
      if (check_.IsFull()) return;
      check(MessagePath(path, name, index++), element);
    }
  }

  FieldChecker check_;

 private:
  void Of(const MessagePath& path, const v1::TimeStatistics& m);
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MEASUREMENT_CHECKER_H_
