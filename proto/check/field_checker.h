// Checks of a message's fields that cost nothing while all is well.
#ifndef SEXTANT_PROTO_CHECK_FIELD_CHECKER_H_
#define SEXTANT_PROTO_CHECK_FIELD_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/measured_kernels.pb.h"

namespace sextant::check {

// Receives one fault: the field's path, and a description that continues it ("is required").
using FaultSink = absl::FunctionRef<void(const std::string& field, absl::string_view description)>;

// The place of a message in a request. Formatted only when something is wrong: each path points to
// the one above it, which outlives it.
class MessagePath {
 public:
  explicit MessagePath(absl::string_view root) : name_(root) {}
  MessagePath(const MessagePath& above, absl::string_view name) : above_(&above), name_(name) {}
  MessagePath(const MessagePath& above, absl::string_view name, int index)
      : above_(&above), name_(name), index_(index) {}

  // "calibrations[0].matmuls[3].time". Empty names are left out.
  std::string ToString() const;

 private:
  const MessagePath* above_ = nullptr;
  absl::string_view name_;
  int index_ = -1;  // of an element
};

// The numbers that a field may hold. NaN and infinities are never allowed.
struct RealRange {
  double low;
  double high;
  bool above_low = false;  // excludes `low` itself
};

inline constexpr size_t kMaxFieldTextBytes = 256;
inline constexpr int64_t kMaxByteCount = 1'000'000'000'000'000;
inline constexpr int64_t kMaxCount = 1'000'000'000'000;
inline constexpr RealRange kSeconds = {.low = 0, .high = 1e6, .above_low = true};
// From 1, so that no time of a plan is infinite.
inline constexpr RealRange kRate = {.low = 1, .high = 1e18};

// Returns the description of an enum's `number` that this version lacks.
std::string UnknownEnumNumber(int number);

// Reports invalid fields.
class FieldChecker {
 public:
  // The most elements of any list: a third more than the multiplications of the largest plan.
  static constexpr int kMaxElements = 2048;

  struct Options {
    int most_faults;        // after this many no more lists are checked
    double rate_tolerance;  // share by which a rate may differ from other fields' result
  };

  // `sink` outlives it.
  FieldChecker(Options options, FaultSink sink) : options_(options), sink_(sink) {}

  // A field of the message at `path`; `name` is empty for the message itself.
  struct Field {
    const MessagePath& path;
    absl::string_view name;
  };

  void Fault(Field field, absl::string_view description);
  // `present` is false where a required field is missing.
  void Present(Field field, bool present);
  void Whole(Field field, int64_t value, int64_t low, int64_t high);
  void Real(Field field, double value, RealRange range);
  // An enum that is required: `known` is false for a number that this version lacks.
  void Enum(Field field, int value, bool known);
  void Type(const MessagePath& path, v1::DataType type);
  // A text of at most `most_bytes`, without control characters. May be empty.
  void Text(Field field, absl::string_view value, size_t most_bytes);
  // A required text of up to kMaxFieldTextBytes.
  void Name(Field field, absl::string_view value);
  // Checks that `value` is within the tolerance of `expected`, which other fields give. Where
  // either is not a number, a violation of that field, or of those it is computed from, has been
  // reported.
  void Agrees(Field field, double value, double expected);
  // A rate, against the one that shape and time give.
  void Rate(Field field, double rate, double expected);
  void Time(Field field, bool present, const v1::TimeStatistics& time);

  // Checks each element of a list by `check(path, element)`, until most_faults is reached.
  template <typename Elements, typename CheckElement>
  void Each(const MessagePath& path, absl::string_view name, const Elements& elements,
            CheckElement check, int most_elements = kMaxElements) {
    if (elements.size() > most_elements) {
      Fault({path, name},
            absl::StrCat("has ", elements.size(), " elements: at most ", most_elements));
      return;
    }
    int index = 0;
    for (const auto& element : elements) {
      if (fault_count_ >= options_.most_faults) return;
      check(MessagePath(path, name, index++), element);
    }
  }

  int fault_count() const { return fault_count_; }

 private:
  const Options options_;
  const FaultSink sink_;
  int fault_count_ = 0;
};

}  // namespace sextant::check

#endif  // SEXTANT_PROTO_CHECK_FIELD_CHECKER_H_
