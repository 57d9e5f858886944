// Whether a run fits, in words and as an exit code.
#ifndef SEXTANT_CLIENT_VERDICT_H_
#define SEXTANT_CLIENT_VERDICT_H_

#include <optional>

#include "client/exit_code.h"
#include "sextant/v1/plan.pb.h"

namespace sextant {

// "FITS", "TIGHT", "DOES NOT FIT".
const char* VerdictWords(v1::Verdict verdict);

// Absent where this client does not know the verdict.
std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_VERDICT_H_
