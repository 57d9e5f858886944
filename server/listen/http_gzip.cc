#include "server/listen/http_gzip.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sextant::server {
namespace {

namespace io = google::protobuf::io;

// A plan of 268 kB, measured: 23.6 kB in 0.55 ms at level 1, 21.9 kB in 0.59 ms at 3, 19.2 kB in
// 0.88 ms at 4, 17.0 kB in 1.3 ms at 6.
constexpr int kGzipLevel = 3;

// "gzip;q=0" refuses it.
bool IsRefused(absl::string_view parameters) {
  parameters = absl::StripAsciiWhitespace(parameters);
  double weight = 1;
  return (absl::ConsumePrefix(&parameters, "q=") || absl::ConsumePrefix(&parameters, "Q=")) &&
         (!absl::SimpleAtod(parameters, &weight) || !(weight > 0));
}

}  // namespace

bool TakesGzip(absl::string_view accept_encoding) {
  bool takes_any = false;
  for (const absl::string_view part : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits(';', 1));
    const absl::string_view coding = absl::StripAsciiWhitespace(pair.first);
    if (absl::EqualsIgnoreCase(coding, "gzip")) return !IsRefused(pair.second);
    takes_any = takes_any || (coding == "*" && !IsRefused(pair.second));
  }
  return takes_any;
}

std::string Gzip(absl::string_view content) {
  std::string out;
  {
    io::StringOutputStream sink(&out);
    io::GzipOutputStream::Options options;
    options.format = io::GzipOutputStream::GZIP;
    options.compression_level = kGzipLevel;
    io::GzipOutputStream gzip(&sink, options);
    void* room = nullptr;
    int size = 0;
    while (!content.empty() && gzip.Next(&room, &size)) {
      const size_t moved = content.copy(static_cast<char*>(room), static_cast<size_t>(size));
      content.remove_prefix(moved);
      gzip.BackUp(size - static_cast<int>(moved));
    }
    gzip.Close();
  }
  return out;
}

std::string Inflate(absl::string_view gzip) {
  io::ArrayInputStream source(gzip.data(), static_cast<int>(gzip.size()));
  io::GzipInputStream content(&source, io::GzipInputStream::GZIP);
  std::string out;
  const void* part = nullptr;
  for (int size = 0; content.Next(&part, &size);) {
    out.append(static_cast<const char*>(part), static_cast<size_t>(size));
  }
  return out;
}

}  // namespace sextant::server
