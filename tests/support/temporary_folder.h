// Folders and files that a test leaves nothing of.
#ifndef SEXTANT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define SEXTANT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// A new folder below $TMPDIR (default: /tmp), removed with its content by the process that made it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
  pid_t maker_;
};

// The path of `name` in a folder of this process, which is removed when the process exits.
std::string TemporaryFile(absl::string_view name);

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
