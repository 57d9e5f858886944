#include "server/convert/field_checker.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "server/convert/enums.h"

namespace sextant {
namespace {

// An answer names at most 16; a request of a megabyte could hold a million.
constexpr size_t kMaxViolations = 48;
constexpr double kTolerance = 0.01;

bool HasControlCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string MessagePath::ToString() const {
  std::string out = above_ == nullptr ? std::string(name_) : FieldPath(above_->ToString(), name_);
  if (index_ >= 0) absl::StrAppend(&out, "[", index_, "]");
  return out;
}

void FieldChecker::Fault(Field field, absl::string_view description) {
  violations_.Add(FieldPath(field.path.ToString(), field.name), description);
}

void FieldChecker::Present(Field field, bool present) {
  if (!present) Fault(field, "is required");
}

void FieldChecker::Whole(Field field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  violations_.RequireRange(field.path.ToString(), field.name, value, low, high);
}

void FieldChecker::Real(Field field, double value, FieldViolations::RealRange range) {
  const bool above = range.above_low ? value > range.low : value >= range.low;
  if (above && value <= range.high) return;
  violations_.RequireRange(field.path.ToString(), field.name, value, range);
}

void FieldChecker::Enum(Field field, int value, bool known) {
  if (value == 0) {
    Fault(field, "is required");
  } else if (!known) {
    Fault(field, UnknownEnumNumber(value));
  }
}

void FieldChecker::Text(Field field, absl::string_view value, size_t most_bytes) {
  if (value.size() > most_bytes) {
    Fault(field, absl::StrCat("has ", value.size(), " bytes: at most ", most_bytes));
  } else if (HasControlCharacter(value)) {
    Fault(field, "has control characters: write it without");
  }
}

void FieldChecker::Agrees(Field field, double value, double expected) {
  if (!std::isfinite(value) || !std::isfinite(expected) || expected <= 0) return;
  if (std::abs(value / expected - 1) <= kTolerance) return;
  Fault(field, absl::StrCat("is ", NumberText(value), ", but the fields beside it give ",
                            NumberText(expected)));
}

bool FieldChecker::IsFull() const { return violations_.all().size() >= kMaxViolations; }

}  // namespace sextant
