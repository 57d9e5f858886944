#include "engine/time/sustained_prediction.h"

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/predict/sustained_rate.h"

namespace sextant {
namespace {

void Derate(const Derating& derating, KernelTime& time) {
  time.expected = time.expected * derating.expected;
  time.high = time.high * derating.high;
}

}  // namespace

absl::StatusOr<std::string> MakeSustained(const PredictedDevice& device, DataType type,
                                          OperationPrediction& prediction) {
  prediction.regime = KernelRegime::kSustained;
  if (prediction.streams) {
    return std::string(
        "Times are sustained: what memory bounds is taken to be no slower than in bursts.");
  }
  Derating derating = DeratingOfUnmeasured();
  if (device.measured != nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(derating, DeratingOfMeasured(*device.measured, type));
  }
  Derate(derating, prediction.forward);
  Derate(derating, prediction.backward);
  return absl::StrFormat("Times are sustained, %.3g times a burst's: %s.", derating.expected,
                         derating.citation);
}

}  // namespace sextant
