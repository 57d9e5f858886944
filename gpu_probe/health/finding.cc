#include "gpu_probe/health/finding.h"

namespace sextant {
namespace {

int Badness(HealthStatus status) {
  switch (status) {
    case HealthStatus::kOk:
      return 0;
    case HealthStatus::kUnknown:
      return 1;
    case HealthStatus::kWarning:
      return 2;
    case HealthStatus::kCritical:
      return 3;
  }
  return 1;
}

}  // namespace

const char* HealthStatusText(HealthStatus status) {
  switch (status) {
    case HealthStatus::kOk:
      return "OK";
    case HealthStatus::kWarning:
      return "WARNING";
    case HealthStatus::kCritical:
      return "CRITICAL";
    case HealthStatus::kUnknown:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

HealthStatus Worse(HealthStatus a, HealthStatus b) { return Badness(a) >= Badness(b) ? a : b; }

}  // namespace sextant
