// What the program's exit code says. A scheduler branches on these: it refuses a run on
// 1 and 3, and launches it on the rest, on 7 with a warning.
#ifndef SEXTANT_CLIENT_EXIT_CODE_H_
#define SEXTANT_CLIENT_EXIT_CODE_H_

namespace sextant {

enum ExitCode : int {
  kExitFits = 0,        // or success, where nothing has to fit
  kExitDoesNotFit = 1,  // a valid answer
  kExitUsage = 2,       // the command line is wrong, or names a file that can't be written
  kExitBadRequest = 3,  // the request is wrong: mend it, do not retry
  kExitRetryLater = 4,  // busy, draining, unreachable or late
  kExitNotAllowed = 5,  // no identity, or one without the right
  kExitInternal = 6,    // everything else: a defect
  kExitTight = 7,       // a valid answer: whether it fits lies within what is estimated
  kExitSignal = 128,    // plus the signal's number: interrupted, as shells say it
};

// The codes as --help explains them.
inline constexpr char kExitCodeHelp[] =
    "Exit codes:\n"
    "  0  it fits (plan, memory), or success\n"
    "  1  it does not fit: a valid answer\n"
    "  2  usage: the command line is wrong, or its output file can't be written\n"
    "  3  bad request: a field or a name is wrong; do not retry\n"
    "  4  retry later: no server, busy, past the deadline, or the probe failed\n"
    "  5  not allowed: no identity, or not this one\n"
    "  6  anything else: a defect, please report it\n"
    "  7  it is tight (plan, memory): whether it fits lies within what is estimated\n"
    "  130  interrupted (Ctrl-C): the call was cancelled";

}  // namespace sextant

#endif  // SEXTANT_CLIENT_EXIT_CODE_H_
