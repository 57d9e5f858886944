#include "engine/base/reason.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace sextant {
namespace {

constexpr char kReasonUrl[] = "sextant/reason";

// Text with two lines per fact: the key and the value.
constexpr char kMetadataUrl[] = "sextant/metadata";

// Text with three lines per violation; line ends in them become blanks.
constexpr char kPreconditionsUrl[] = "sextant/preconditions";

// `text` on one line.
std::string Line(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}});
}

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason) {
  if (!status.ok()) status.SetPayload(kReasonUrl, absl::Cord(reason));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kReasonUrl);
  return payload.has_value() ? std::string(*payload) : "INVARIANT_BROKEN";
}

absl::Status WithMetadata(absl::Status status, absl::string_view key, absl::string_view value) {
  if (status.ok()) return status;
  std::string facts;
  for (const auto& [other, text] : MetadataOf(status)) {
    if (other != key) absl::StrAppend(&facts, other, "\n", text, "\n");
  }
  absl::StrAppend(&facts, key, "\n", Line(value), "\n");
  status.SetPayload(kMetadataUrl, absl::Cord(facts));
  return status;
}

std::vector<std::pair<std::string, std::string>> MetadataOf(const absl::Status& status) {
  std::vector<std::pair<std::string, std::string>> out;
  const absl::optional<absl::Cord> payload = status.GetPayload(kMetadataUrl);
  if (!payload.has_value()) return out;
  const std::string text(*payload);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i + 1 < lines.size(); i += 2) out.emplace_back(lines[i], lines[i + 1]);
  return out;
}

absl::Status FailedPrecondition(absl::string_view reason,
                                absl::Span<const PreconditionViolation> violations) {
  std::string message;
  std::string payload;
  for (const PreconditionViolation& v : violations) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", v.description);
    absl::StrAppend(&payload, Line(v.type), "\n", Line(v.subject), "\n", Line(v.description), "\n");
  }
  absl::Status status = WithReason(absl::FailedPreconditionError(message), reason);
  status.SetPayload(kPreconditionsUrl, absl::Cord(payload));
  return status;
}

std::vector<PreconditionViolation> PreconditionsOf(const absl::Status& status) {
  std::vector<PreconditionViolation> out;
  const absl::optional<absl::Cord> payload = status.GetPayload(kPreconditionsUrl);
  if (!payload.has_value()) return out;
  const std::string text(*payload);
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i + 2 < lines.size(); i += 3) {
    out.push_back({std::string(lines[i]), std::string(lines[i + 1]), std::string(lines[i + 2])});
  }
  return out;
}

}  // namespace sextant
