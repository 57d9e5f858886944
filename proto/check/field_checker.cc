#include "proto/check/field_checker.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace sextant::check {
namespace {

constexpr RealRange kSpread = {.low = 0, .high = 1e3};

bool HasControlCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

// As few digits as read back to the same value, at most 17.
std::string NumberText(double value) {
  std::string text = absl::StrFormat("%.15g", value);
  double back = 0;
  if (!absl::SimpleAtod(text, &back) || back != value) text = absl::StrFormat("%.17g", value);
  return text;
}

}  // namespace

std::string MessagePath::ToString() const {
  std::string out = above_ == nullptr ? "" : above_->ToString();
  if (!out.empty() && !name_.empty()) out += '.';
  absl::StrAppend(&out, name_);
  if (index_ >= 0) absl::StrAppend(&out, "[", index_, "]");
  return out;
}

std::string UnknownEnumNumber(int number) {
  return absl::StrCat("is number ", number,
                      ", which this version does not know: see the API's enum");
}

void FieldChecker::Fault(Field field, absl::string_view description) {
  ++fault_count_;
  sink_(MessagePath(field.path, field.name).ToString(), description);
}

void FieldChecker::Present(Field field, bool present) {
  if (!present) Fault(field, "is required");
}

void FieldChecker::Whole(Field field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  Fault(field, absl::StrCat("must be ", low, " to ", high, ", not ", value));
}

void FieldChecker::Real(Field field, double value, RealRange range) {
  // Written so that NaN fails the check.
  const bool above = range.above_low ? value > range.low : value >= range.low;
  if (above && value <= range.high) return;
  Fault(field, absl::StrCat("must be a number ", range.above_low ? "above " : "from ", range.low,
                            " to ", range.high, ", not ", NumberText(value)));
}

void FieldChecker::Enum(Field field, int value, bool known) {
  if (value == 0) {
    Fault(field, "is required");
  } else if (!known) {
    Fault(field, UnknownEnumNumber(value));
  }
}

void FieldChecker::Type(const MessagePath& path, v1::DataType type) {
  Enum({path, "data_type"}, type, v1::DataType_IsValid(type));
}

void FieldChecker::Text(Field field, absl::string_view value, size_t most_bytes) {
  if (value.size() > most_bytes) {
    Fault(field, absl::StrCat("has ", value.size(), " bytes: at most ", most_bytes));
  } else if (HasControlCharacter(value)) {
    Fault(field, "has control characters: write it without");
  }
}

void FieldChecker::Name(Field field, absl::string_view value) {
  Present(field, !value.empty());
  Text(field, value, kMaxFieldTextBytes);
}

void FieldChecker::Agrees(Field field, double value, double expected) {
  if (!std::isfinite(value) || !std::isfinite(expected) || expected <= 0) return;
  if (std::abs(value / expected - 1) <= options_.rate_tolerance) return;
  Fault(field, absl::StrCat("is ", NumberText(value), ", but the fields next to it give ",
                            NumberText(expected)));
}

void FieldChecker::Rate(Field field, double rate, double expected) {
  Real(field, rate, kRate);
  Agrees(field, rate, expected);
}

void FieldChecker::Time(Field field, bool present, const v1::TimeStatistics& time) {
  Present(field, present);
  if (!present) return;
  const MessagePath path(field.path, field.name);
  Real({path, "median_seconds"}, time.median_seconds(), kSeconds);
  Real({path, "relative_spread"}, time.relative_spread(), kSpread);
  Real({path, "p10_seconds"}, time.p10_seconds(), kSeconds);
  Real({path, "p90_seconds"}, time.p90_seconds(), kSeconds);
  if (time.p10_seconds() > time.median_seconds()) {
    Fault({path, "p10_seconds"}, "must not be above median_seconds");
  }
  if (time.p90_seconds() < time.median_seconds()) {
    Fault({path, "p90_seconds"}, "must not be below median_seconds");
  }
  Whole({path, "sample_count"}, time.sample_count(), 1, kMaxCount);
  Whole({path, "repetition_count"}, time.repetition_count(), 1, kMaxCount);
}

}  // namespace sextant::check
