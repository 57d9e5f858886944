#include <ostream>
#include <string>

#include "client/calibration_argument.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/hardware_commands.h"
#include "client/kernel_chart.h"
#include "client/kernel_chart_svg.h"
#include "client/kernel_rates_text.h"
#include "client/proto_json.h"
#include "client/written_file.h"

namespace sextant {
int RunRates(const CommandLine& line, const Streams& streams) {
  v1::GetKernelRatesRequest request = line.rates.request;
  v1::GetKernelRatesResponse response;
  grpc::Status status;
  for (const std::string& file : line.rates.calibration_files) {
    if (!status.ok()) break;
    status = ReadCalibrationArgument(file, streams.in, request.add_calibrations());
  }
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
