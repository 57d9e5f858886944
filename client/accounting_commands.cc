#include "client/accounting_commands.h"

#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/number_format_text.h"
#include "client/proto_json.h"
#include "client/tensor_field_words.h"
#include "client/tensor_text.h"

namespace sextant {
namespace {

int ShowAll(const CommandLine& line, const Streams& streams) {
  v1::ListDataTypesResponse response;
  const grpc::Status status = ListDataTypes(line.server, {}, &response);
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(NumberFormatTable(response)));
  return kExitFits;
}

grpc::Status Incomplete(const char* what) {
  return {grpc::StatusCode::INTERNAL, absl::StrCat("the answer holds no ", what)};
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

int RunTokens(const CommandLine& line, const Streams& streams) {
  v1::DescribeTokensResponse response;
  const grpc::Status status = DescribeTokens(line.server, line.tokens_request, &response);
  if (!status.ok()) return Fail(status, line, streams, {.field = TokensFieldWords});
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(TokensText(line.tokens_request, response)));
  return kExitFits;
}

int RunTensor(const CommandLine& line, const Streams& streams) {
  const v1::AnalyzeTensorRequest& request = line.tensor_request;
  v1::AnalyzeTensorResponse response;
  grpc::Status status = AnalyzeTensor(line.server, request, &response);
  if (status.ok() && response.steps_size() != request.steps_size()) status = Incomplete("steps");
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = [&line](const std::string& field) {
                  return TensorFieldWords(line.tensor_steps, field);
                }});
  }
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(TensorText(response, line.tensor_steps)));
  return kExitFits;
}

}  // namespace sextant
