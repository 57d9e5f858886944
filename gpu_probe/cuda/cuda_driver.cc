#include "gpu_probe/cuda/cuda_driver.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {

absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(LibrarySymbols symbols,
                           LibrarySymbols::Open("", {path.empty() ? "libcuda.so.1" : path}));
  CudaDriver driver = {.symbols = std::move(symbols)};
  if (driver.symbols.missing().empty()) return driver;
  return Absent(kDriverTooOld,
                absl::StrCat(driver.symbols.library(), " has no ", driver.symbols.missing(),
                             ": it is of a driver before CUDA 12, or is no CUDA "
                             "driver; install a newer driver"));
}

}  // namespace sextant::probe
