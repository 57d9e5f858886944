#include "client/message_file.h"

#include <google/protobuf/util/json_util.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/call_error.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {

grpc::Status ReadMessage(const std::string& file, std::istream& in,
                         google::protobuf::Message* message) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, message);
  if (parsed.ok()) return grpc::Status::OK;
  const std::string& type = message->GetDescriptor()->name();
  return RefusalStatus("REQUEST_MALFORMED",
                       absl::StrCat(file == "-" ? "standard input" : file, ": not a",
                                    absl::StartsWith(type, "A") ? "n " : " ", type,
                                    " in proto JSON: ", parsed.ToString()));
}

}  // namespace sextant
