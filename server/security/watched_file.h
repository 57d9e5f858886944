// A file that may be replaced while the server runs.
#ifndef SEXTANT_SERVER_SECURITY_WATCHED_FILE_H_
#define SEXTANT_SERVER_SECURITY_WATCHED_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/log.h"

namespace sextant::server {

// The file's content, at most a megabyte.
//
// Errors: kInvalidArgument with the reason.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

// Identity of a file version; a replaced file has a new inode.
struct FileVersion {
  explicit FileVersion(const std::string& path);
  friend bool operator==(const FileVersion&, const FileVersion&) = default;

  ino_t inode = 0;
  off_t size = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
};

// The parsed content of a file, read again after it has changed. Where a new version can't be read
// or parsed the former stays, and the log says so. Thread-safe.
template <typename Value>
class WatchedFile {
 public:
  using Parse = std::function<absl::StatusOr<Value>(absl::string_view text)>;

  // Errors: kInvalidArgument naming `flag` and `path`.
  static absl::StatusOr<std::unique_ptr<WatchedFile>> Load(const std::string& flag,
                                                           const std::string& path, Parse parse) {
    std::unique_ptr<WatchedFile> out(new WatchedFile(flag, path, std::move(parse)));
    absl::StatusOr<Value> value = out->Read();
    if (!value.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, "=", path, ": ", value.status().message()));
    }
    out->value_ = std::make_shared<const Value>(*std::move(value));
    return out;
  }

  // Cached content, at most 1 s old.
  std::shared_ptr<const Value> Latest() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return value_;
    next_look_ = now + std::chrono::seconds(1);
    const FileVersion version(path_);
    if (version == version_) return value_;
    version_ = version;
    absl::StatusOr<Value> value = Read();
    if (value.ok()) {
      value_ = std::make_shared<const Value>(*std::move(value));
      LogEvent(LogLevel::kInfo, "file_read_again", {{"flag", flag_}, {"path", path_}});
    } else {
      LogEvent(
          LogLevel::kError, "file_not_read_again",
          {{"flag", flag_}, {"path", path_}, {"reason", std::string(value.status().message())}});
    }
    return value_;
  }

 private:
  WatchedFile(const std::string& flag, const std::string& path, Parse parse)
      : flag_(flag), path_(path), parse_(std::move(parse)), version_(path) {}

  absl::StatusOr<Value> Read() const {
    const absl::StatusOr<std::string> text = ReadSmallFile(path_);
    return text.ok() ? parse_(*text) : absl::StatusOr<Value>(text.status());
  }

  const std::string flag_;
  const std::string path_;
  const Parse parse_;
  std::mutex mutex_;
  FileVersion version_;
  std::chrono::steady_clock::time_point next_look_;
  std::shared_ptr<const Value> value_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_SECURITY_WATCHED_FILE_H_
