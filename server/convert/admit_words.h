// The words of a job's user as a PlanRunRequest: a line that comes from a stranger, and is judged
// under the identity of a scheduler.
#ifndef SEXTANT_SERVER_CONVERT_ADMIT_WORDS_H_
#define SEXTANT_SERVER_CONVERT_ADMIT_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

inline constexpr size_t kMaxWordsBytes = 4096;

// `line` as a POSIX shell splits it: by blanks and line ends, which quotes and a backslash take
// along. All other characters are themselves: nothing is expanded.
//
// Errors: kInvalidArgument, for a quote that is not closed and a backslash at the end.
absl::StatusOr<std::vector<std::string>> SplitWords(absl::string_view line);

// Reads `line` into `*request`, which is empty: "--tp 8", "--tp=8" and "tp=8", by the names of the
// fields that FieldDescription.admit has; the first word without a name is the model's. Values are
// read as the command line reads them. Reads nothing else: no file, no environment.
//
// Errors: kInvalidArgument FIELD_INVALID, with a violation of `words` for each word that is wrong,
// of the first few.
absl::Status ReadWords(absl::string_view line, v1::PlanRunRequest* request);

// The errors of the run that ReadWords() made as errors of `words`: "--tp: must be 1 to 65,536".
// Others than those of its caller are returned as they are.
absl::Status InWords(const absl::Status& status);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ADMIT_WORDS_H_
