#include "server/listen/http_head.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace sextant::server {
namespace {

constexpr int kBadRequest = 400;
constexpr int kMethodNotAllowed = 405;

// RFC 9110 section 9.3 and RFC 5789. Few: the first bytes tell whether it is HTTP at all.
constexpr absl::string_view kMethods[] = {"GET ",     "HEAD ",    "POST ",  "PUT ",  "DELETE ",
                                          "CONNECT ", "OPTIONS ", "TRACE ", "PATCH "};

bool MayBeHttp(absl::string_view received) {
  return std::any_of(std::begin(kMethods), std::end(kMethods), [&](absl::string_view method) {
    return absl::StartsWith(received, method) || absl::StartsWith(method, received);
  });
}

// Bytes that no head holds, or a line end that is not CR LF.
bool HasWrongBytes(absl::string_view received) {
  for (size_t i = 0; i < received.size(); ++i) {
    const char c = received[i];
    const bool is_end = c == '\r' && (i + 1 == received.size() || received[i + 1] == '\n');
    const bool ends = c == '\n' && i > 0 && received[i - 1] == '\r';
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t' && !is_end && !ends) {
      return true;
    }
  }
  return false;
}

// RFC 9110 section 5.6.2.
bool IsToken(absl::string_view text) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(kMarks, c);
  });
}

bool IsRequestLine(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  return words.size() == 3 && !words[1].empty() &&
         (words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0");
}

HttpHead Refused(int status) { return {.kind = HttpHead::Kind::kRefused, .status = status}; }

HttpHead Judge(absl::string_view head) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  if (!IsRequestLine(lines[0])) return Refused(kBadRequest);
  int lengths = 0;
  bool is_encoded = false;
  HttpHead out = {.kind = HttpHead::Kind::kWhole};
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    const absl::string_view name = lines[i].substr(0, colon);
    if (colon == absl::string_view::npos || !IsToken(name)) return Refused(kBadRequest);
    const absl::string_view value = absl::StripAsciiWhitespace(lines[i].substr(colon + 1));
    is_encoded = is_encoded || absl::EqualsIgnoreCase(name, "Transfer-Encoding");
    if (!absl::EqualsIgnoreCase(name, "Content-Length")) continue;
    ++lengths;
    if (value.empty() || !std::all_of(value.begin(), value.end(), absl::ascii_isdigit)) {
      return Refused(kBadRequest);
    }
    out.has_body = out.has_body || value != "0";
  }
  // Two ends of one body: a proxy before this server may have taken the other.
  if (lengths + (is_encoded ? 1 : 0) > 1) return Refused(kBadRequest);
  out.has_body = out.has_body || is_encoded;
  const bool is_read = absl::StartsWith(head, "GET ") || absl::StartsWith(head, "HEAD ");
  return is_read ? out : Refused(kMethodNotAllowed);
}

}  // namespace

HttpHead ReadHttpHead(absl::string_view received) {
  if (!MayBeHttp(received)) return {.kind = HttpHead::Kind::kGarbage};
  constexpr absl::string_view kEnd = "\r\n\r\n";
  const size_t end = received.find(kEnd);
  const absl::string_view head = received.substr(0, end);
  if (HasWrongBytes(head)) return Refused(kBadRequest);
  if (end == absl::string_view::npos) return {};
  HttpHead out = Judge(head);
  out.bytes = end + kEnd.size();
  return out;
}

}  // namespace sextant::server
