// `sextant tokens`: sizes token files, and says how fast they are read.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/report/operation_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kTokensHelp[] =
    "An id takes 2 bytes up to a vocabulary of 65,536, else 4; in memory often 8 (int64).\n"
    "\n"
    "Examples:\n"
    "  How large is the file?\n"
    "    sextant tokens 15T --vocabulary=128256\n"
    "  And how fast must it be read?\n"
    "    sextant tokens 2.8T --bytes-per-id=2 --tokens-per-second=9e6\n";

constexpr FieldFlag kTokensFlags[] = {
    {"COUNT", "token_count", "how many tokens, e.g. 15T"},
    {"--vocabulary-size,--vocabulary", "vocabulary_size", "tokens in the vocabulary"},
    {"--bytes-per-id", "bytes_per_id", "1, 2, 4 or 8: instead of it"},
    {"--tokens-per-second", "tokens_per_second", "that a run reads"}};

int RunTokens(const v1::DescribeTokensRequest& request, const CommandLine& line,
              const Streams& streams) {
  v1::DescribeTokensResponse response;
  const grpc::Status status =
      Call(line.server, &v1::AccountingService::Stub::DescribeTokens, request, &response);
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = [](const std::string& field) {
                  return FieldWordsOf({kTokensFlags}, field);
                }});
  }
  streams.out << (line.json() ? ProtoJson(response) : Printable(TokensText(request, response)));
  return kExitFits;
}

}  // namespace

void AddTokens(CLI::App* app, CommandLine* line) {
  const auto request = std::make_shared<v1::DescribeTokensRequest>();
  CLI::App* command =
      AddCommand("tokens", "Size token files, and how fast they are read", kTokensHelp, app);
  for (const FieldFlag& flag : kTokensFlags) AddFieldFlag(flag, request.get(), command);
  command->get_option("COUNT")->type_name("")->required();
  command->final_callback([request, line] {
    if (request->has_vocabulary_size() == request->has_bytes_per_id()) {
      throw CLI::ValidationError("give one of --vocabulary and --bytes-per-id");
    }
    line->run = [request](const CommandLine& read, const Streams& streams) {
      return RunTokens(*request, read, streams);
    };
  });
}

}  // namespace sextant::client
