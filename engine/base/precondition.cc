#include "engine/base/precondition.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "engine/base/reason.h"

namespace sextant {
namespace {

// The payload is text: three lines a violation, line ends within them made blanks.
constexpr char kPreconditionsUrl[] = "sextant/preconditions";

std::string Line(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}});
}

}  // namespace

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
