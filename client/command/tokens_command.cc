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

int RunTokens(const v1::DescribeTokensRequest& request, const CommandLine& line,
              const Streams& streams) {
  return CallAndShow(line, streams, &v1::AccountingService::Stub::DescribeTokens, request,
                     [&request](const auto& response) { return TokensText(request, response); },
                     {.field = RequestFieldWords<v1::DescribeTokensRequest>});
}

void AddTokensFlags(CLI::App* command, CommandLine* line) {
  const auto request = std::make_shared<v1::DescribeTokensRequest>();
  AddFlags(RequestFlags<v1::DescribeTokensRequest>(), nullptr, request.get(), command);
  command->get_option("COUNT")->type_name("")->required();
  const auto check = [request] {
    if (request->has_vocabulary_size() == request->has_bytes_per_id()) {
      throw CLI::ValidationError("give one of --vocabulary and --bytes-per-id");
    }
  };
  OnceRead(command, line, request, RunTokens, {.check = check});
}

}  // namespace

const Command kTokensCommand = {"tokens", "Size token files, and how fast they are read",
                                kTokensHelp, AddTokensFlags};

}  // namespace sextant::client
