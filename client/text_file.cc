#include "client/text_file.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

// "1 MiB", "64 KiB": what limits are whole numbers of.
std::string SizeName(size_t bytes) {
  return bytes % (size_t{1} << 20) == 0 ? absl::StrCat(bytes >> 20, " MiB")
                                        : absl::StrCat(bytes >> 10, " KiB");
}

absl::StatusOr<std::string> ReadStream(std::istream& in, const std::string& name,
                                       size_t limit_bytes) {
  std::string text(limit_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return absl::NotFoundError(absl::StrCat("cannot read ", name));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > limit_bytes) {
    return absl::OutOfRangeError(absl::StrCat(name, " holds more than the limit of ",
                                              SizeName(limit_bytes), " (", limit_bytes, " bytes)"));
  }
  return text;
}

}  // namespace

bool IsReadableFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  // A directory opens, and only its first read fails; an empty file ends at once.
  return file && (file.peek() != std::ifstream::traits_type::eof() || !file.bad());
}

absl::StatusOr<std::string> ReadText(const std::string& name, std::istream& in,
                                     size_t limit_bytes) {
  if (name == "-") return ReadStream(in, "standard input", limit_bytes);
  std::ifstream file(name, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", name));
  return ReadStream(file, name, limit_bytes);
}

bool IsUtf8(const std::string& text) {
  // nlohmann writes no text that is not, and says so by an exception alone.
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace sextant
