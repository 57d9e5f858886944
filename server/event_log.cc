#include "server/event_log.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/base/clip.h"
#include "server/call_log.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

// Five facts, and the rest of a line, are within the PIPE_BUF bytes of WriteLogLine().
constexpr size_t kMaxFactBytes = 640;

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// At most kMaxFactBytes as JSON, where a byte may take six.
Json Fact(const std::string& value) {
  Json fact = value;
  for (size_t most = kMaxFactBytes; Text(fact).size() > kMaxFactBytes; most /= 2) {
    fact = Clip(value, most);
  }
  return fact;
}

}  // namespace

std::string EventLogLine(absl::string_view event,
                         const std::vector<std::pair<std::string, std::string>>& facts) {
  Json line;
  line["time"] = TimeText(std::chrono::system_clock::now());
  line["event"] = std::string(event);
  for (const auto& [key, value] : facts) line[key] = Fact(value);
  return Text(line) + "\n";
}

void LogEvent(absl::string_view event,
              const std::vector<std::pair<std::string, std::string>>& facts) {
  WriteLogLine(EventLogLine(event, facts));
}

}  // namespace sextant
