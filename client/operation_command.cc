#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "client/accounting_commands.h"
#include "client/calibration_argument.h"
#include "client/call_error.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/operation_text.h"
#include "client/proto_json.h"
#include "client/roofline_chart.h"
#include "client/roofline_plot.h"
#include "client/roofline_svg.h"
#include "client/written_file.h"

namespace sextant {
namespace {

grpc::Status Ask(const CommandLine& line, std::istream& in,
                 v1::AnalyzeOperationResponse* response) {
  v1::AnalyzeOperationRequest request = line.operation.request;
  grpc::Status status;
  if (const std::string& file = line.operation.calibration_file; !file.empty()) {
    status = ReadCalibrationArgument(file, in, request.mutable_device()->mutable_calibration());
  }
  if (status.ok()) status = AnalyzeOperation(line.server, request, response);
  if (status.ok() && !response->has_forward()) {
    return {grpc::StatusCode::INTERNAL, "the answer holds no cost"};
  }
  return status;
}

int FailToDraw(const absl::Status& chart, const CommandLine& line, const Streams& streams) {
  return Fail({grpc::StatusCode::INTERNAL, std::string(chart.message())}, line, streams);
}

}  // namespace

int RunOperation(const CommandLine& line, const Streams& streams) {
  const OperationCommand& operation = line.operation;
  v1::AnalyzeOperationResponse response;
  const grpc::Status status = Ask(line, streams.in, &response);
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = [&operation](const std::string& field) {
                  return OperationFieldWords(*operation.kind, field);
                }});
  }
  std::string plot;
  if (operation.plot || !operation.svg_file.empty()) {
    const absl::StatusOr<RooflineChart> chart = RooflineChartOf(response);
    if (!chart.ok()) return FailToDraw(chart.status(), line, streams);
    if (operation.plot) plot = RooflinePlot(*chart);
    if (!operation.svg_file.empty()) {
      const absl::Status written = WriteText(operation.svg_file, RooflineSvg(*chart));
      if (!written.ok()) return FailToWrite(written, line, streams);
    }
  }
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(OperationText(response, plot, streams.now())));
  return kExitFits;
}

}  // namespace sextant
