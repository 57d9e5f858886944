#include "client/verdict.h"

namespace sextant {

const char* VerdictWords(v1::Verdict verdict) {
  if (verdict == v1::VERDICT_FITS) return "FITS";
  return verdict == v1::VERDICT_TIGHT ? "TIGHT" : "DOES NOT FIT";
}

std::optional<ExitCode> ExitCodeOfVerdict(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return kExitFits;
    case v1::VERDICT_DOES_NOT_FIT:
      return kExitDoesNotFit;
    case v1::VERDICT_TIGHT:
      return kExitTight;
    default:
      return std::nullopt;
  }
}

}  // namespace sextant
