// Answers in gzip, for clients that take it.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_GZIP_H_
#define SEXTANT_SERVER_LISTEN_HTTP_GZIP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant::server {

// True where a header Accept-Encoding of that value takes gzip: RFC 9110 section 12.5.3.
bool TakesGzip(absl::string_view accept_encoding);

std::string Gzip(absl::string_view content);

// The content of a gzip file of ours.
std::string Inflate(absl::string_view gzip);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_GZIP_H_
