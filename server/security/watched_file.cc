#include "server/security/watched_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace sextant::server {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

}  // namespace

FileVersion::FileVersion(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return;
  inode = found.st_ino;
  size = found.st_size;
  seconds = found.st_mtim.tv_sec;
  nanoseconds = found.st_mtim.tv_nsec;
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));  // throws nothing
  if (!in.is_open() || in.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("can't be read: ", std::strerror(errno)));
  }
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxBytes) return absl::InvalidArgumentError("is larger than 1 MiB");
  return text;
}

}  // namespace sextant::server
