#include "client/config_file.h"

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/call_error.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {

// Sent as it is, an empty text would read as none at all, and one that is not UTF-8 would be lost
// with the whole request.
grpc::Status ReadConfig(const std::string& file, const std::string& where, std::istream& in,
                        std::string* text) {
  const absl::StatusOr<std::string> read = ReadText(file, in, kMaxConfigBytes);
  if (!read.ok()) return ReadRefusal(read.status());
  if (absl::StripAsciiWhitespace(*read).empty()) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(where, ": the file holds no text: give one that does"));
  }
  if (!IsUtf8(*read)) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(where, ": the file's text is not UTF-8: save it as UTF-8"));
  }
  *text = *read;
  return grpc::Status::OK;
}

}  // namespace sextant
