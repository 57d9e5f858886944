#include "server/security/watched_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace sextant::server {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

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
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("can't be read: ", std::strerror(errno)));
  }
  if (text.size() > kMaxBytes) return absl::InvalidArgumentError("is larger than 1 MiB");
  return text;
}

}  // namespace sextant::server
