// Why a probe failed, as a message and as the process's exit code.
#ifndef SEXTANT_GPU_PROBE_EXIT_CODE_H_
#define SEXTANT_GPU_PROBE_EXIT_CODE_H_

#include "absl/status/status.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// One for each ProbeFailure.Kind. `sextant-probe check` uses the exit codes of monitoring plugins
// instead: HealthStatus of health/finding.h.
enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,
  kExitUsage = 2,
  kExitUnsupported = 3,
  kExitRefused = 4,
  kExitMismatch = 5,
  kExitDeadline = 6,
};

// The codes as --help explains them.
inline constexpr char kExitCodeHelp[] =
    "Exit codes:\n"
    "  0  measured, or listed\n"
    "  1  internal: the result could not be written, nobody reads it, or a defect\n"
    "  2  usage: the command line is wrong\n"
    "  3  unsupported: no such device, or it can't do what was asked\n"
    "  4  refused: the device is in use or unfit, has too little memory, or another probe is\n"
    "     measuring; try later\n"
    "  5  mismatch: a result was wrong: don't trust this device, or this kernel\n"
    "  6  deadline: the time was up before enough was measured";

// Converts `status`, which is not OK, into a failure:
//   kInvalidArgument                           USAGE
//   kUnimplemented, kNotFound                  UNSUPPORTED
//   kResourceExhausted, kAborted               REFUSED, reason "memory" and "locked"
//   kDataLoss                                  MISMATCH, reason: its metadata "check"
//   kDeadlineExceeded                          DEADLINE
//   all others                                 INTERNAL
// The metadata "reason", where present, is the reason of any of them.
v1::ProbeFailure FailureOf(const absl::Status& status);

ExitCode ExitCodeOf(v1::ProbeFailure::Kind kind);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_EXIT_CODE_H_
