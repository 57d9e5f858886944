// Programs that stand in for sextant-probe, each a shell script that a test writes.
#ifndef SEXTANT_TESTS_SERVER_FAKE_PROBE_H_
#define SEXTANT_TESTS_SERVER_FAKE_PROBE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// A folder of its own below the tests' temporary one; removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

 private:
  std::string path_;
};

void WriteFile(const std::string& path, absl::string_view content);
std::string ReadFile(const std::string& path);

// A script that /bin/sh runs; its path.
std::string WriteScript(const TemporaryFolder& folder, absl::string_view name,
                        absl::string_view commands);

// A processor and what was measured on it: each list has an entry or more, with round figures.
v1::Device FakeDevice();
v1::Calibration FakeCalibration();

// Commands of a script that write the event: one line of proto JSON.
std::string WriteDevice(const v1::Device& device);
std::string WriteCalibration(const v1::Calibration& calibration);
std::string WriteProgress(absl::string_view phase, double fraction);
std::string WriteFailure(absl::string_view kind, absl::string_view message,
                         absl::string_view reason = "");

// Commands of a probe that answers --list with FakeDevice(), and else does `commands`.
std::string ListsAnd(absl::string_view commands);

// A named pipe that holds a script until the test lets it go on.
class Latch {
 public:
  explicit Latch(const TemporaryFolder& folder);

  // The command that waits for Open().
  std::string WaitCommand() const;
  // Returns once a script waits, and lets it go on.
  void Open() const;

 private:
  const std::string path_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_SERVER_FAKE_PROBE_H_
