// Keeps one calibration after the other, for ever, in the folder given as its argument, and reports
// each on standard output. A test kills it.
#include <unistd.h>

#include <cstdint>

#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sextant::server::CalibrationStore store(argv[1]);
  sextant::v1::Calibration calibration = sextant::server::FakeCalibration();
  for (int64_t i = 0; true; ++i) {
    calibration.mutable_measured_time()->set_seconds(1'700'000'000 + i);
    if (!store.Keep(calibration).warning.empty() || write(STDOUT_FILENO, ".", 1) != 1) return 1;
  }
}
