// `sextant admit`: asks whether a job may start, as a scheduler's hook asks.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/io/message_file.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kAdmitHelp[] =
    "Asks what a scheduler's hook asks: the words of a job's user as they are, and what the job\n"
    "gets. Words set the fields of a run as the flags of sextant plan do (--tp 8, --tp=8, tp=8).\n"
    "The server reads them, refuses names of files, addresses and outputs, and answers within\n"
    "--budget. One word is a whole line; several are quoted again. Prints the verdict in one "
    "line,\n"
    "and in a second the cheapest change. Exit codes: 0 it fits, 7 tight, 1 it does not fit, 10\n"
    "not judged, 3 the words are wrong; on all but 1 and 3 a job may start. Starts no server.\n"
    "docs/admit.md has a hook.\n"
    "\n"
    "Examples:\n"
    "  sextant admit --devices=16 --accelerator=h100-sxm --budget=1s -- \\\n"
    "      llama-3.1-8b --tp=8 --gbs=64 --sequence-length=8192\n"
    "  sextant admit --devices=64 --accelerator=h100-sxm --scheduler=slurm --budget=1s -- \\\n"
    "      \"llama-3.1-70b tp=8 pp=4 zero=1 gbs=64 sequence-length=8192 tokens=1T\"\n";

constexpr FlagRow kAdmitRows[] = {
    {.field = "device_count"},
    {.field = "accelerator"},
    {.field = "node_type"},
    {.field = "budget"},
    {.field = "words", .word = "WORDS", .below = Below::kDropped},
};

struct AdmitFlags {
  v1::AdmitRequest request;
  std::vector<std::string> words;
};

// `word` as the server splits it off again.
std::string Quoted(const std::string& word) {
  const bool is_plain = !word.empty() && absl::c_all_of(word, [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '\'' && c != '"' && c != '\\';
  });
  if (is_plain) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string LineOf(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, Quoted(word));
  });
}

std::optional<ExitCode> ExitCodeOfAdmission(v1::AdmitResponse::Verdict verdict) {
  switch (verdict) {
    case v1::AdmitResponse::VERDICT_FITS:
      return kExitFits;
    case v1::AdmitResponse::VERDICT_TIGHT:
      return kExitTight;
    case v1::AdmitResponse::VERDICT_DOES_NOT_FIT:
      return kExitDoesNotFit;
    case v1::AdmitResponse::VERDICT_UNKNOWN:
      return kExitUnknown;
    default:
      return std::nullopt;
  }
}

int RunAdmit(const AdmitFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AdmitRequest request = flags.request;
  request.set_words(LineOf(flags.words));
  v1::AdmitResponse response;
  grpc::Status status = Call(line.server, &v1::PlanningService::Stub::Admit, request, &response);
  const std::optional<ExitCode> exit_code = ExitCodeOfAdmission(response.verdict());
  if (status.ok() && !exit_code.has_value()) status = Incomplete("verdict that this client knows");
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = RequestFieldWords<v1::AdmitRequest, kAdmitRows>});
  }
  if (line.json()) {
    streams.out << ProtoJson(response);
  } else {
    streams.out << Printable(OneLine(response.message())) << "\n";
    if (!response.change().empty() && !line.one_line()) {
      streams.out << Printable(OneLine(response.change())) << "\n";
    }
  }
  return *exit_code;
}

void AddAdmitFlags(CLI::App* command, CommandLine* line) {
  constexpr double kTimeoutSeconds = 2;  // a hook holds up its scheduler
  const auto flags = std::make_shared<AdmitFlags>();
  command->add_option("WORDS", flags->words, "the words of the job's user, after --")
      ->type_name("");
  AddFlags(RequestFlags<v1::AdmitRequest, kAdmitRows>(), nullptr, &flags->request, command);
  const auto check = [command, line, flags] {
    line->may_start_server = false;
    WaitFor(kTimeoutSeconds + static_cast<double>(flags->request.budget().seconds()), *command,
            line);
  };
  OnceRead(command, line, flags, RunAdmit, {.check = check});
}

}  // namespace

const Command kAdmitCommand = {"admit", "Ask whether a job may start, as a hook does", kAdmitHelp,
                               AddAdmitFlags};

}  // namespace sextant::client
