// The ways in which a probe fails, each an error of its own.
#ifndef SEXTANT_SERVER_PROBE_FAULT_H_
#define SEXTANT_SERVER_PROBE_FAULT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// kUnavailable with reason PROBE_FAILED and metadata "fault", one of: absent, unstartable,
// crashed, exited, garbage, silent, partial_line, mismatch.
absl::Status ProbeFault(absl::string_view fault, absl::string_view message);

// kUnavailable with reason PROBE_TIMEOUT.
absl::Status ProbeTimeout(absl::string_view message);

// kCancelled with reason PROBE_CANCELLED: the caller left, or the server stops.
absl::Status ProbeCancelled();

// What the probe itself said: kFailedPrecondition with reason PROBE_REFUSED and metadata
// "reason" ("memory", "threads", "locked", "unsupported") where it refused, or can't do what was
// asked; PROBE_TIMEOUT where its time was up; else PROBE_FAILED, fault mismatch or exited.
absl::Status ProbeFailureStatus(const v1::ProbeFailure& failure);

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_FAULT_H_
