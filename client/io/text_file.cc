#include "client/io/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// "1 MiB", "64 KiB": for sizes that are whole numbers of KiB.
std::string SizeName(size_t bytes) {
  return bytes % (size_t{1} << 20) == 0 ? absl::StrCat(bytes >> 20, " MiB")
                                        : absl::StrCat(bytes >> 10, " KiB");
}

absl::Status CannotRead(const std::string& name, const std::string& why) {
  return absl::NotFoundError(absl::StrCat("cannot read ", name, ": ", why));
}

absl::StatusOr<std::string> ReadStream(std::istream& in, const std::string& name,
                                       size_t limit_bytes) {
  std::string text(limit_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return CannotRead(name, std::strerror(errno));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > limit_bytes) return TooLong(name, limit_bytes);
  return text;
}

absl::Status CannotWrite(const std::string& file, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", file, ": ", std::strerror(error)));
}

// Writes a new file `name` with `text`, and syncs it to disk. Returns 0 or an errno.
int WriteNew(const std::string& name, const std::string& text) {
  std::FILE* file = std::fopen(name.c_str(), "wbxe");
  if (file == nullptr) return errno;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const int error = written ? 0 : errno;
  return std::fclose(file) == 0 || error != 0 ? error : errno;
}

}  // namespace

absl::Status TooLong(const std::string& name, size_t limit_bytes) {
  return absl::OutOfRangeError(absl::StrCat(name, " holds more than the limit of ",
                                            SizeName(limit_bytes), " (", limit_bytes, " bytes)"));
}

std::string WhyUnreadable(const std::string& name) {
  struct stat found = {};
  if (stat(name.c_str(), &found) != 0) return std::strerror(errno);
  if (S_ISDIR(found.st_mode)) return std::strerror(EISDIR);
  return access(name.c_str(), R_OK) == 0 ? "" : std::strerror(errno);
}

std::string ConfigFileAt(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(name, ignored)) return name;
  for (const char* file : {"config.json", "params.json"}) {
    std::string inside = (std::filesystem::path(name) / file).string();
    if (WhyUnreadable(inside).empty()) return inside;
  }
  return name;
}

// transformers writes the index's metadata before its map of thousands of tensors.
std::string WeightsIndexWords(const std::string& file, int64_t parameter_count) {
  constexpr char kIndex[] = "model.safetensors.index.json";
  const std::string total = "\"total_size\":";
  if (file.empty() || file == "-" || parameter_count <= 0) return "";
  std::ifstream in(std::filesystem::path(ConfigFileAt(file)).replace_filename(kIndex));
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(in.gcount()));
  const size_t found = start.find(total);
  if (found == std::string::npos) return "";
  absl::string_view digits = absl::string_view(start).substr(found + total.size());
  digits = absl::StripAsciiWhitespace(digits.substr(0, digits.find_first_of(",}\n")));
  int64_t bytes = 0;
  if (!absl::SimpleAtoi(digits, &bytes) || bytes <= 0) return "";
  const std::string says =
      absl::StrCat(kIndex, ": total_size says ", Grouped(bytes), " bytes, counted ",
                   Grouped(parameter_count), " parameters");
  for (const int64_t each : {2, 4, 1}) {
    if (bytes == each * parameter_count)
      return absl::StrCat(says, " of ", each, each == 1 ? " byte" : " bytes", ": the same");
  }
  return absl::StrCat(
      says, ", which makes ",
      absl::StrFormat("%.4f", static_cast<double>(bytes) / static_cast<double>(parameter_count)),
      " bytes each: the files hold others, such as scales, towers or copies");
}

absl::StatusOr<std::string> ReadText(const std::string& name, std::istream& in,
                                     size_t limit_bytes) {
  if (name == "-") return ReadStream(in, "standard input", limit_bytes);
  std::ifstream file(name, std::ios::binary);
  if (!file) return CannotRead(name, std::strerror(errno));
  return ReadStream(file, name, limit_bytes);
}

bool IsUtf8(const std::string& text) {
  // nlohmann refuses text that is not UTF-8, and reports it by an exception only.
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

absl::Status WriteText(const std::string& file, const std::string& text) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, error);
  if (error) return CannotWrite(file, error.value());
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", file, ": it is not a regular file; name another"));
  }
  // A rename makes the file appear whole or not at all.
  const std::string whole = absl::StrCat(target.string(), ".", getpid(), ".new");
  if (const int failed = WriteNew(whole, text); failed != 0) {
    if (failed != EEXIST) std::remove(whole.c_str());
    return CannotWrite(file, failed);
  }
  if (std::rename(whole.c_str(), target.c_str()) == 0) return absl::OkStatus();
  const int failed = errno;
  std::remove(whole.c_str());
  return CannotWrite(file, failed);
}

}  // namespace sextant::client
