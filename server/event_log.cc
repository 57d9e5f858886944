#include "server/event_log.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "server/call_log.h"

namespace sextant {

std::string EventLogLine(absl::string_view event,
                         const std::vector<std::pair<std::string, std::string>>& facts) {
  nlohmann::ordered_json line;
  line["time"] = TimeText(std::chrono::system_clock::now());
  line["event"] = std::string(event);
  for (const auto& [key, value] : facts) line[key] = value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void LogEvent(absl::string_view event,
              const std::vector<std::pair<std::string, std::string>>& facts) {
  WriteLogLine(EventLogLine(event, facts));
}

}  // namespace sextant
