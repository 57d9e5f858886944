#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/calibration_file.h"
#include "client/call_error.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/hardware_commands.h"
#include "client/kernel_chart.h"
#include "client/kernel_chart_svg.h"
#include "client/kernel_rates_text.h"
#include "client/proto_json.h"
#include "client/read_refusal.h"
#include "client/text_file.h"
#include "client/written_file.h"

namespace sextant {
namespace {

grpc::Status AddCalibrations(const RatesCommand& rates, std::istream& in,
                             v1::GetKernelRatesRequest* request) {
  for (const std::string& file : rates.calibration_files) {
    const absl::StatusOr<std::string> text = ReadText(file, in);
    if (!text.ok()) return ReadRefusal(text.status());
    const absl::StatusOr<v1::Calibration> calibration = ReadCalibration(*text);
    if (!calibration.ok()) {
      return RefusalStatus("REQUEST_MALFORMED",
                           absl::StrCat(file, ": ", calibration.status().message()));
    }
    *request->add_calibrations() = *calibration;
  }
  return grpc::Status::OK;
}

}  // namespace

int RunRates(const CommandLine& line, const Streams& streams) {
  v1::GetKernelRatesRequest request = line.rates.request;
  v1::GetKernelRatesResponse response;
  grpc::Status status = AddCalibrations(line.rates, streams.in, &request);
  if (status.ok()) status = GetKernelRates(line.server, request, &response);
  if (status.ok() && response.curves().empty()) {
    status = {grpc::StatusCode::INTERNAL, "the answer holds no rates"};
  }
  if (!status.ok()) return Fail(status, line, streams, {.field = RatesFieldWords});
  if (!line.rates.svg_file.empty()) {
    const absl::Status written =
        WriteText(line.rates.svg_file, KernelChartsSvg(KernelChartsOf(response)));
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  streams.out << (line.json() ? ProtoJson(response) : Printable(KernelRatesText(response)));
  return kExitFits;
}

}  // namespace sextant
