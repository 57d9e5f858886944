// sextant-probe: measures the devices of this host, and judges devices by their measurements.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "gpu_probe/backends.h"
#include "gpu_probe/health/run_check.h"
#include "gpu_probe/run_probe.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int exit_code = sextant::AsksForCheck(args) ? sextant::RunCheck(args, sextant::Backends())
                                                    : sextant::RunProbe(args, sextant::Backends());
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  // Not by return: libraries that were loaded by name may have threads that wait for more work,
  // and that need not survive the tearing down of what they stand on.
  std::_Exit(exit_code);
}
