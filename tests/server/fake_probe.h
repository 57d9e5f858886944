// Programs in place of sextant-probe: shell scripts that a test writes.
#ifndef SEXTANT_TESTS_SERVER_FAKE_PROBE_H_
#define SEXTANT_TESTS_SERVER_FAKE_PROBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {

void WriteFile(const std::string& path, absl::string_view content);
std::string ReadFile(const std::string& path);

// Writes a script for /bin/sh, and returns its path.
std::string WriteScript(const TemporaryFolder& folder, absl::string_view name,
                        absl::string_view commands);

// A processor and its measurements: each list has one or more entries, with round figures.
v1::Device FakeDevice();
v1::Calibration FakeCalibration();

// Commands of a script that write the event: one line of proto JSON.
std::string WriteDevice(const v1::Device& device);
std::string WriteCalibration(const v1::Calibration& calibration);
std::string WriteProgress(absl::string_view phase, double fraction);
std::string WriteFailure(absl::string_view kind, absl::string_view message,
                         absl::string_view reason = "");

// Commands of a probe that answers --list with `devices`, and otherwise runs `commands`.
std::string ListsAnd(absl::string_view commands,
                     const std::vector<v1::Device>& devices = {FakeDevice()});

// A named pipe that holds a script until the test opens it.
class Latch {
 public:
  explicit Latch(const TemporaryFolder& folder);

  // The command that waits for Open().
  std::string WaitCommand() const;
  // Waits until a script waits, and then lets it continue.
  void Open() const;

 private:
  const std::string path_;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_FAKE_PROBE_H_
