#include "server/retry_delay.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace sextant {
namespace {

constexpr char kPayloadUrl[] = "sextant/retry_delay_seconds";

}  // namespace

absl::Status WithRetryDelay(absl::Status status, double seconds) {
  if (!status.ok()) status.SetPayload(kPayloadUrl, absl::Cord(absl::StrFormat("%.17g", seconds)));
  return status;
}

absl::optional<double> RetryDelaySecondsOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  double seconds = 0;
  if (!payload.has_value() || !absl::SimpleAtod(std::string(*payload), &seconds)) return {};
  return seconds;
}

}  // namespace sextant
