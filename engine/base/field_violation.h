// A caller's errors, each with the path of its field.
#ifndef SEXTANT_ENGINE_BASE_FIELD_VIOLATION_H_
#define SEXTANT_ENGINE_BASE_FIELD_VIOLATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// One error. Paths are spelt as in sextant.v1 ("cluster.device_count"), so that server/ forwards
// them unchanged. The description says what is wrong and what to write.
struct FieldViolation {
  std::string field;
  std::string description;

  friend bool operator==(const FieldViolation&, const FieldViolation&) = default;
};

// Collects errors, so that a caller can fix a request in one go. Allocates nothing while empty.
class FieldViolations {
 public:
  bool empty() const { return violations_.empty(); }
  // True where a violation names `field`, or a field or an element below it.
  bool Mentions(absl::string_view field) const;
  const std::vector<FieldViolation>& all() const { return violations_; }
  // The errors found, with those that AddOnce() and AddBelow() left out. Where a check found none,
  // it has not grown, and checks that depend on it may follow.
  size_t found_count() const { return violations_.size() + left_out_; }

  void Add(absl::string_view field, absl::string_view description);
  // The same, unless a violation names `field` already.
  void AddOnce(absl::string_view field, absl::string_view description);
  // Adds the violations that `status` carries.
  void AddAll(const absl::Status& status);

  // Adds `others`, whose fields are below `path`, but those of fields that had a violation before.
  void AddBelow(absl::string_view path, const FieldViolations& others);

  // Adds a violation of `path`.`name` unless low <= value <= high, or the field has one already.
  void RequireRange(absl::string_view path, absl::string_view name, int64_t value, int64_t low,
                    int64_t high);

  // The same for a required field, where `low` is positive: zero is reported as missing, since the
  // wire can't tell the two apart.
  void Require(absl::string_view path, absl::string_view name, int64_t value, int64_t low,
               int64_t high);

  // RequireRange() for a double; `above_low` excludes `low` itself. NaN and infinities are
  // always violations.
  struct RealRange {
    double low;
    double high;
    bool above_low = false;
  };
  void RequireRange(absl::string_view path, absl::string_view name, double value, RealRange range);

  // OK if empty, else kInvalidArgument with reason FIELD_INVALID carrying all of them.
  absl::Status ToStatus() const;

 private:
  std::vector<FieldViolation> violations_;
  size_t left_out_ = 0;
};

// kInvalidArgument with reason FIELD_INVALID, carrying one violation.
absl::Status InvalidField(absl::string_view field, absl::string_view description);

// The violations that `status` carries; empty if it carries none.
std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status);

// `status`, of an unknown name, with the field that has it as a fact for programs, "field".
// An OK status is unchanged.
absl::Status WithField(absl::Status status, absl::string_view field);

// `status` whose field, and those of its violations, have other paths in the caller's request:
// `path_of` gives them. Unchanged where it names none.
absl::Status WithPaths(const absl::Status& status,
                       absl::FunctionRef<std::string(absl::string_view)> path_of);

// The same, of a request at `path`: "runs[3]" makes "model" "runs[3].model".
absl::Status BelowField(const absl::Status& status, absl::string_view path);

// "path.name", or the nonempty one of the two.
std::string FieldPath(absl::string_view path, absl::string_view name);

// A FieldPath() that is put together where it is asked for: no sound field's is.
class FieldName {
 public:
  // Implicit: the whole path is a name, too.
  template <typename Text,
            typename = std::enable_if_t<std::is_convertible_v<const Text&, absl::string_view>>>
  FieldName(const Text& path) : path_(path) {}
  FieldName(absl::string_view path, absl::string_view name) : path_(path), name_(name) {}

  std::string text() const { return FieldPath(path_, name_); }

 private:
  absl::string_view path_;
  absl::string_view name_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_FIELD_VIOLATION_H_
