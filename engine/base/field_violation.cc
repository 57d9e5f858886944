#include "engine/base/field_violation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

// The payload is text with two lines per violation: the field and the description. Add() removes
// line ends from both.
constexpr char kFieldsUrl[] = "sextant/field_violations";

constexpr char kFieldKey[] = "field";

std::string OneLine(absl::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

}  // namespace

void FieldViolations::Add(absl::string_view field, absl::string_view description) {
  violations_.push_back({OneLine(field), OneLine(description)});
}

void FieldViolations::AddOnce(absl::string_view field, absl::string_view description) {
  if (Mentions(field)) {
    ++left_out_;
  } else {
    Add(field, description);
  }
}

void FieldViolations::AddAll(const absl::Status& status) {
  for (const FieldViolation& v : FieldViolationsOf(status)) Add(v.field, v.description);
}

void FieldViolations::AddBelow(absl::string_view path, const FieldViolations& others) {
  const size_t before = violations_.size();
  for (const FieldViolation& v : others.all()) {
    const std::string field = FieldPath(path, v.field);
    const auto end = violations_.begin() + static_cast<std::ptrdiff_t>(before);
    if (std::any_of(violations_.begin(), end,
                    [&](const FieldViolation& each) { return each.field == field; })) {
      ++left_out_;
    } else {
      Add(field, v.description);
    }
  }
}

bool FieldViolations::Mentions(absl::string_view field) const {
  for (const FieldViolation& v : violations_) {
    absl::string_view rest = v.field;
    if (absl::ConsumePrefix(&rest, field) &&
        (rest.empty() || absl::StrContains(".[", rest.front())))
      return true;
  }
  return false;
}

void FieldViolations::RequireRange(absl::string_view path, absl::string_view name, int64_t value,
                                   int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  AddOnce(FieldPath(path, name), absl::StrCat("must be ", low, " to ", high, ", not ", value));
}

void FieldViolations::Require(absl::string_view path, absl::string_view name, int64_t value,
                              int64_t low, int64_t high) {
  if (value == 0) {
    AddOnce(FieldPath(path, name), absl::StrCat("is required: write ", low, " to ", high));
  } else {
    RequireRange(path, name, value, low, high);
  }
}

void FieldViolations::RequireRange(absl::string_view path, absl::string_view name, double value,
                                   RealRange range) {
  // Written so that NaN fails.
  const bool above = range.above_low ? value > range.low : value >= range.low;
  if (above && value <= range.high) return;
  AddOnce(FieldPath(path, name),
          absl::StrCat("must be a number ", range.above_low ? "above " : "from ", range.low, " to ",
                       range.high, ", not ", NumberText(value)));
}

absl::Status FieldViolations::ToStatus() const {
  if (violations_.empty()) return absl::OkStatus();
  std::string message;
  std::string payload;
  for (const FieldViolation& v : violations_) {
    if (!message.empty()) message += "; ";
    absl::StrAppend(&message, v.field, ": ", v.description);
    absl::StrAppend(&payload, v.field, "\n", v.description, "\n");
  }
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kFieldsUrl, absl::Cord(payload));
  return WithReason(std::move(status), "FIELD_INVALID");
}

absl::Status InvalidField(absl::string_view field, absl::string_view description) {
  FieldViolations one;
  one.Add(field, description);
  return one.ToStatus();
}

std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status) {
  std::vector<FieldViolation> out;
  const absl::optional<absl::Cord> payload = status.GetPayload(kFieldsUrl);
  if (!payload.has_value()) return out;
  const std::string text(*payload);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i + 1 < lines.size(); i += 2) out.push_back({lines[i], lines[i + 1]});
  return out;
}

absl::Status WithField(absl::Status status, absl::string_view field) {
  return WithMetadata(std::move(status), kFieldKey, field);
}

absl::Status WithPaths(const absl::Status& status,
                       absl::FunctionRef<std::string(absl::string_view)> path_of) {
  FieldViolations out;
  for (const FieldViolation& violation : FieldViolationsOf(status)) {
    out.Add(path_of(violation.field), violation.description);
  }
  if (!out.empty()) return out.ToStatus();
  for (const auto& [key, field] : MetadataOf(status)) {
    if (key == kFieldKey) return WithField(status, path_of(field));
  }
  return status;
}

absl::Status BelowField(const absl::Status& status, absl::string_view path) {
  return WithPaths(status, [path](absl::string_view field) { return FieldPath(path, field); });
}

std::string FieldPath(absl::string_view path, absl::string_view name) {
  if (path.empty()) return std::string(name);
  if (name.empty()) return std::string(path);
  return absl::StrCat(path, ".", name);
}

}  // namespace sextant
