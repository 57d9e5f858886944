#include "server/listen/http_head.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/base/status_macros.h"
#include "server/call/call.h"
#include "server/listen/http_failure.h"

namespace sextant::server {
namespace {

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

absl::Status Malformed(absl::string_view message) {
  return HttpError(HttpFault::kMalformed, message);
}

// `text` with "%41" as "A"; absent where an escape is not one, or hides a control character.
absl::optional<std::string> Unescaped(absl::string_view text, bool is_query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (is_query && c == '+') c = ' ';
    if (c == '%') {
      const absl::string_view digits = text.substr(i + 1, 2);
      if (digits.size() != 2 || !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
        return absl::nullopt;
      }
      c = absl::HexStringToBytes(digits)[0];
      if (!is_query && absl::ascii_iscntrl(static_cast<unsigned char>(c))) return absl::nullopt;
      i += 2;
    }
    out.push_back(c);
  }
  return out;
}

absl::Status ReadRequestLine(absl::string_view line, HttpHead& out) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    return Malformed("the first line of a request is METHOD /path HTTP/1.1");
  }
  out.method = std::string(words[0]);
  out.is_1_1 = words[2] == "HTTP/1.1";
  out.keeps_alive = out.is_1_1;
  const bool is_of_all = out.method == "OPTIONS" && words[1] == "*";
  if (!is_of_all && !absl::StartsWith(words[1], "/")) {
    return Malformed("the target of a request begins with /");
  }
  const size_t mark = std::min(words[1].find('?'), words[1].size());
  auto path = Unescaped(words[1].substr(0, mark), /*is_query=*/false);
  if (!path.has_value()) return Malformed("the path has a % that begins no character");
  out.path = *std::move(path);
  if (mark < words[1].size()) out.query = std::string(words[1].substr(mark + 1));
  if (!Unescaped(out.query, /*is_query=*/true).has_value()) {
    return Malformed("the query has a % that begins no character");
  }
  return absl::OkStatus();
}

// Headers of which there may be one: two proxies take different ones of several.
constexpr absl::string_view kSingle[] = {"content-length", "transfer-encoding", "host"};

absl::Status AddHeader(absl::string_view line, HttpHead& out) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Malformed("a header is Name: value");
  }
  std::string name = absl::AsciiStrToLower(line.substr(0, colon));
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  const auto known = std::find_if(out.headers.begin(), out.headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  if (known == out.headers.end()) {
    out.headers.emplace_back(std::move(name), value);
    return absl::OkStatus();
  }
  if (std::find(std::begin(kSingle), std::end(kSingle), name) != std::end(kSingle)) {
    return Malformed(absl::StrCat("there are two headers ", name));
  }
  absl::StrAppend(&known->second, ", ", value);
  return absl::OkStatus();
}

bool HasHeader(const HttpHead& head, absl::string_view name) {
  return std::any_of(head.headers.begin(), head.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

// Where the body ends.
absl::Status ReadFraming(HttpHead& out) {
  const bool has_length = HasHeader(out, "content-length");
  if (HasHeader(out, "transfer-encoding")) {
    if (has_length) return Malformed("Content-Length and Transfer-Encoding are two ends of a body");
    if (!out.is_1_1 || !absl::EqualsIgnoreCase(out.Header("transfer-encoding"), "chunked")) {
      return Malformed("the Transfer-Encoding is chunked, of HTTP/1.1");
    }
    out.body = HttpHead::Body::kChunked;
  }
  if (has_length) {
    const absl::string_view digits = out.Header("content-length");
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) {
      return Malformed("Content-Length is a number");
    }
    // One that does not fit is larger than all that are taken.
    if (!absl::SimpleAtoi(digits, &out.length)) out.length = UINT64_MAX;
    if (out.length > 0) out.body = HttpHead::Body::kLength;
  }
  if (out.method != "POST") return absl::OkStatus();
  if (!has_length && out.body == HttpHead::Body::kNone) {
    return HttpError(HttpFault::kNoLength, "a POST says where it ends: send Content-Length");
  }
  const size_t most = IsHook(out.path) ? kMaxHookBytes : kMaxReceiveBytes;
  if (out.length <= most) return absl::OkStatus();
  return HttpError(HttpFault::kLargeBody, absl::StrCat("the body has ", out.length,
                                                       " bytes, and at most ", most, " are taken"));
}

absl::Status Judge(absl::string_view text, HttpHead& out) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, "\r\n");
  SEXTANT_RETURN_IF_ERROR(ReadRequestLine(lines[0], out));
  for (size_t i = 1; i < lines.size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(AddHeader(lines[i], out));
  }
  if (out.is_1_1 && !HasHeader(out, "host"))
    return Malformed("a request of HTTP/1.1 names its Host");
  for (const absl::string_view word : absl::StrSplit(out.Header("connection"), ',')) {
    if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(word), "close")) out.keeps_alive = false;
  }
  out.awaits_100 = out.is_1_1 && absl::EqualsIgnoreCase(out.Header("expect"), "100-continue");
  return ReadFraming(out);
}

}  // namespace

bool IsHook(absl::string_view path) {
  return absl::ConsumePrefix(&path, kHookPath) && (path.empty() || path[0] == '/');
}

absl::string_view HttpHead::Header(absl::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (absl::EqualsIgnoreCase(known, name)) return value;
  }
  return "";
}

absl::optional<std::string> HttpHead::Parameter(absl::string_view name) const {
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (Unescaped(pair.first, /*is_query=*/true) == name) {
      return Unescaped(pair.second, /*is_query=*/true);
    }
  }
  return absl::nullopt;
}

HttpHead ReadHttpHead(absl::string_view received) {
  if (!MayBeHttp(received)) return {.kind = HttpHead::Kind::kGarbage};
  constexpr absl::string_view kEnd = "\r\n\r\n";
  const size_t end = received.find(kEnd);
  const absl::string_view head = received.substr(0, end);
  HttpHead out;
  if (HasWrongBytes(head)) {
    out.error = Malformed("lines end with CR LF, and hold no control character");
  } else if (end == absl::string_view::npos) {
    return out;
  } else {
    out.error = Judge(head, out);
  }
  out.kind = out.error.ok() ? HttpHead::Kind::kWhole : HttpHead::Kind::kRefused;
  out.bytes = end + kEnd.size();
  return out;
}

absl::Status ChunkedBody::EndLine() {
  constexpr size_t kMaxDigits = 8;
  const absl::string_view digits = absl::string_view(line_).substr(0, line_.size() - 2);
  if (state_ != State::kSize) {
    if (!digits.empty()) return Malformed("a chunk is longer than it says, or a trailer follows");
    state_ = state_ == State::kDataEnd ? State::kSize : State::kEnd;
  } else if (digits.size() > kMaxDigits || !absl::SimpleHexAtoi(digits, &left_) ||
             !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
    return Malformed("the size of a chunk is up to 8 hexadecimal digits, and nothing else");
  } else if (content_.size() + left_ > kMaxReceiveBytes) {
    return HttpError(HttpFault::kLargeBody,
                     absl::StrCat("the body has more than ", kMaxReceiveBytes, " bytes"));
  } else {
    state_ = left_ > 0 ? State::kData : State::kLastEnd;
  }
  line_.clear();
  return absl::OkStatus();
}

absl::Status ChunkedBody::Take(absl::string_view received, size_t& taken) {
  constexpr size_t kMaxLine = 10;  // 8 digits, CR, LF
  for (taken = 0; taken < received.size() && !is_whole();) {
    if (state_ == State::kData) {
      const size_t size = std::min<size_t>(left_, received.size() - taken);
      content_.append(received.data() + taken, size);
      taken += size;
      left_ -= size;
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    line_.push_back(received[taken++]);
    if (absl::EndsWith(line_, "\r\n")) {
      SEXTANT_RETURN_IF_ERROR(EndLine());
    } else if (line_.size() >= kMaxLine) {
      return Malformed("the size of a chunk is up to 8 hexadecimal digits, and nothing else");
    }
  }
  return absl::OkStatus();
}

}  // namespace sextant::server
