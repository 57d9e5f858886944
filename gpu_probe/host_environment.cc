#include "gpu_probe/host_environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace sextant::probe {
namespace {

// The longest text that the server accepts.
constexpr size_t kMaxTextBytes = 256;

std::string Clipped(absl::string_view text) {
  std::string clipped(text.substr(0, kMaxTextBytes));
  for (char& c : clipped) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return clipped;
}

// PRETTY_NAME of os-release(5); "" where there is none.
std::string OperatingSystem(const std::string& root) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    std::ifstream file(absl::StrCat(root, path));
    for (std::string line; std::getline(file, line);) {
      absl::string_view value = line;
      if (!absl::ConsumePrefix(&value, "PRETTY_NAME=")) continue;
      for (const char* quote : {"\"", "'"}) {
        if (absl::ConsumePrefix(&value, quote)) absl::ConsumeSuffix(&value, quote);
      }
      return Clipped(value);
    }
  }
  return "";
}

// True where `engine` is a library with its version, "onednn 2.6.3", and not "builtin".
bool HasVersion(const std::string& engine) {
  const size_t space = engine.rfind(' ');
  return space != std::string::npos && space + 1 < engine.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(engine[space + 1]));
}

template <typename Measurements>
void AddEngines(const Measurements& measurements, std::set<std::string>* engines) {
  for (const auto& measurement : measurements) {
    if (HasVersion(measurement.engine())) engines->insert(Clipped(measurement.engine()));
  }
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

void AddHostEnvironment(const std::string& root, v1::Calibration* calibration) {
  v1::MeasurementEnvironment* const out = calibration->mutable_environment();
  out->set_operating_system(OperatingSystem(root));
  utsname system = {};
  if (uname(&system) == 0) out->set_kernel_release(Clipped(system.release));
  std::array<char, kMaxTextBytes> c_library = {};  // "glibc 2.36"
  if (confstr(_CS_GNU_LIBC_VERSION, c_library.data(), c_library.size()) > 0) {
    out->set_c_library(Clipped(c_library.data()));
  }
  std::set<std::string> engines;
  AddEngines(calibration->matmuls(), &engines);
  AddEngines(calibration->attentions(), &engines);
  AddEngines(calibration->experts(), &engines);
  AddEngines(calibration->collectives(), &engines);
  for (const std::string& engine : engines) out->add_libraries(engine);
}

}  // namespace sextant::probe
