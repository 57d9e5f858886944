#include "client/accounting_commands.h"

#include <ostream>

#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/number_format_text.h"
#include "client/proto_json.h"

namespace sextant {
namespace {

int ShowAll(const CommandLine& line, const Streams& streams) {
  v1::ListDataTypesResponse response;
  const grpc::Status status = ListDataTypes(line.server, {}, &response);
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(NumberFormatTable(response)));
  return kExitFits;
}

}  // namespace

int RunDataType(const CommandLine& line, const Streams& streams) {
  const v1::DescribeDataTypeRequest& request = line.data_type_request;
  if (request.data_type() == v1::DATA_TYPE_UNSPECIFIED) return ShowAll(line, streams);
  v1::DescribeDataTypeResponse response;
  const grpc::Status status = DescribeDataType(line.server, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(NumberFormatText(response)));
  return kExitFits;
}

}  // namespace sextant
