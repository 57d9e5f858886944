// Checks of a message's fields that cost nothing while all is well.
#ifndef SEXTANT_SERVER_CONVERT_FIELD_CHECKER_H_
#define SEXTANT_SERVER_CONVERT_FIELD_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"

namespace sextant {

// Where a message stands in a request. Written out only when something is wrong: each path
// points to the one above it, which outlives it.
class MessagePath {
 public:
  explicit MessagePath(absl::string_view root) : name_(root) {}
  MessagePath(const MessagePath& above, absl::string_view name) : above_(&above), name_(name) {}
  MessagePath(const MessagePath& above, absl::string_view name, int index)
      : above_(&above), name_(name), index_(index) {}

  // "cluster.calibrations[0].matmuls[3].time".
  std::string ToString() const;

 private:
  const MessagePath* above_ = nullptr;
  absl::string_view name_;
  int index_ = -1;  // of an element
};

// Appends to `violations` the fields that are not as they should be.
class FieldChecker {
 public:
  explicit FieldChecker(FieldViolations& violations) : violations_(violations) {}

  // A field of the message at `path`.
  struct Field {
    const MessagePath& path;
    absl::string_view name;
  };

  void Fault(Field field, absl::string_view description);
  // `present` is false where a required field is missing.
  void Present(Field field, bool present);
  void Whole(Field field, int64_t value, int64_t low, int64_t high);
  void Real(Field field, double value, FieldViolations::RealRange range);
  // An enum that has to be given: `known` is false for a number that this version lacks.
  void Enum(Field field, int value, bool known);
  // At most `most_bytes`, without control characters. Empty is fine: see Present().
  void Text(Field field, absl::string_view value, size_t most_bytes);
  // Within 1 % of what other fields give, `expected`. What is no number is at fault already, or
  // comes of fields that are.
  void Agrees(Field field, double value, double expected);

  // Whether so much is wrong already that there is no use in looking further.
  bool IsFull() const;

 private:
  FieldViolations& violations_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_FIELD_CHECKER_H_
