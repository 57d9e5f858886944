#include "client/calibration_argument.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/calibration_file.h"
#include "client/call_error.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {

grpc::Status ReadCalibrationArgument(const std::string& file, std::istream& in,
                                     v1::Calibration* out) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const absl::StatusOr<v1::Calibration> calibration = ReadCalibration(*text);
  if (!calibration.ok()) {
    return RefusalStatus("REQUEST_MALFORMED",
                         absl::StrCat(file, ": ", calibration.status().message()));
  }
  *out = *calibration;
  return grpc::Status::OK;
}

}  // namespace sextant
