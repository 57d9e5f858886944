// sextant-probe: measures the devices of this host.
#include <string>
#include <vector>

#include "gpu_probe/backends.h"
#include "gpu_probe/run_probe.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sextant::RunProbe(args, sextant::Backends());
}
