#include "tests/support/temporary_folder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace sextant {
namespace {

// Short, since a socket's path has at most 107 bytes.
std::string NewPath() {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = parent == nullptr || *parent == '\0' ? "/tmp" : parent;
  path += "/sextant.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    std::perror(path.c_str());
    std::abort();
  }
  return path;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : path_(NewPath()), maker_(getpid()) {}

// A forked child that exits also destroys its parent's statics.
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (maker_ == getpid()) std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFile(absl::string_view name) {
  static const TemporaryFolder folder;
  return folder.File(name);
}

}  // namespace sextant
