#include "engine/base/reason.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"

namespace sextant {
namespace {

constexpr char kReasonUrl[] = "sextant/reason";

// Text: a line for the key and a line for the value of each fact in turn.
constexpr char kMetadataUrl[] = "sextant/metadata";

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
  absl::Cord facts = status.GetPayload(kMetadataUrl).value_or(absl::Cord());
  facts.Append(
      absl::StrCat(key, "\n", absl::StrReplaceAll(value, {{"\n", " "}, {"\r", " "}}), "\n"));
  status.SetPayload(kMetadataUrl, std::move(facts));
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

}  // namespace sextant
