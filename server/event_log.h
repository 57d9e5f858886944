// Lines of the log that belong to no call.
#ifndef SEXTANT_SERVER_EVENT_LOG_H_
#define SEXTANT_SERVER_EVENT_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant {

// {"time":"...","event":"<event>", then `facts` in order}, line end included. Bytes that are
// not UTF-8 are replaced. A long fact is cut, and ends in "...": with up to five of them a line
// is short enough for WriteLogLine().
std::string EventLogLine(absl::string_view event,
                         const std::vector<std::pair<std::string, std::string>>& facts);

// Writes the line to stderr; see WriteLogLine().
void LogEvent(absl::string_view event,
              const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace sextant

#endif  // SEXTANT_SERVER_EVENT_LOG_H_
