// `sextant count`: counts a model's parameters and FLOPs, whole or by GPU.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/given_fields.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/report/count_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kCountHelp[] =
    "MODEL is a file if there is one of that name or it ends in .json, or its folder. Sizes\n"
    "of sequences take Ki (8Ki is 8192). A multiply-add counts as two FLOPs. Flags given with\n"
    "--request override its fields; MODEL replaces its whole model. Components,\n"
    "and matrices for --lora-targets, have the names that the answer shows (--tensors), blanks\n"
    "written as _. Programs get all of it: --output=json.\n"
    "\n"
    "Examples:\n"
    "  How many parameters, and where are they?\n"
    "    sextant count llama-3.1-70b\n"
    "  And how many FLOPs a token, by this and by all other ways to count?\n"
    "    sextant count llama-3.1-70b --sequence=8192 --conventions\n"
    "  A batch of sequences that are not equally long, all layers computed again:\n"
    "    sextant count gpt2 --sequence=12x1024 --sequence=4x512 --recompute=full\n"
    "  What does each GPU hold?\n"
    "    sextant count llama-3.1-70b --tp=8 --pp=4 --vocabulary-multiple=1024\n"
    "  What do adapters add, and what is trained then?\n"
    "    sextant count llama-3.1-8b --lora-rank=16 --freeze-base --tensors\n"
    "  A model as its config.json describes it:\n"
    "    sextant count config.json\n";

struct CountFlags : GivenFields {
  v1::CountModelRequest request;  // the values of flags
  CountSections sections;
};

constexpr char kOptions[] = "Options";
constexpr char kStepGroup[] = "Training step";

constexpr FlagRow kCountRows[] = {
    {.field = "model.preset", .group = kOptions},
    {.field = "model.architecture",
     .help = "instead of it: an Architecture in proto JSON",
     .group = kOptions},
    {.field = "model.transformer", .help = "or a TransformerSpec in proto JSON", .group = kOptions},
    {.field = "model.hugging_face_config",
     .help = "or a model's config.json, as MODEL may be",
     .group = kOptions},
    {.field = "include_tensors"},
    {.field = "include_architecture"},
    {.field = "step.sequences", .word = "--sequence"},
    {.field = "step", .group = kStepGroup},
    {.field = "layout", .group = "GPUs"},
    {.field = "model", .word = "MODEL", .below = Below::kUnknown},
};

absl::Status NoSequences(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not [COUNTx]LENGTH[:ENCODER_LENGTH], such as 4096, 8x4096 or ", "512:1024",
      why.empty() ? "" : ": ", why));
}

// Reads one more group of sequences, "[COUNTx]LENGTH[:ENCODER_LENGTH]". The server checks ranges.
absl::Status AddSequences(absl::string_view text, v1::TrainingStep* step) {
  const std::vector<absl::string_view> lengths = absl::StrSplit(text, ':');
  const std::vector<absl::string_view> sizes = absl::StrSplit(lengths.front(), 'x');
  if (lengths.size() > 2 || sizes.size() > 2) return NoSequences(text, "");
  const absl::StatusOr<int64_t> length = ParseLength(sizes.back());
  if (!length.ok()) return NoSequences(text, length.status().message());
  v1::TrainingStep::SequenceGroup group;
  group.set_length(*length);
  if (sizes.size() > 1) {
    const absl::StatusOr<int64_t> count = ParseCount(sizes.front());
    if (!count.ok()) return NoSequences(text, count.status().message());
    group.set_count(*count);
  }
  if (lengths.size() > 1) {
    const absl::StatusOr<int64_t> encoder_length = ParseLength(lengths.back());
    if (!encoder_length.ok()) return NoSequences(text, encoder_length.status().message());
    group.set_encoder_length(*encoder_length);
  }
  *step->add_sequences() = std::move(group);
  return absl::OkStatus();
}

// The number of ways in which flags give the model.
size_t WaysOf(const CountFlags& count) {
  std::set<std::string> ways;
  for (const std::string& path : count.Paths()) {
    if (NamesModel(path)) ways.insert(path);
  }
  return ways.size();
}

// Checks combinations of flags that are each valid.
void CheckTogether(const CountFlags& count) {
  const size_t ways = WaysOf(count);
  if (ways == 0 && !count.request_file.empty()) return;  // the server checks the file
  if (ways != 1) {
    throw CLI::ValidationError(
        "give the model in one way: a preset's name, a config.json, --architecture or "
        "--transformer");
  }
  const bool counts_flops = count.sections.kaplan || count.request.has_step();
  if (counts_flops && count.request_file.empty() && count.request.step().sequences().empty()) {
    throw CLI::ValidationError(
        "FLOPs depend on how long sequences are: with --kaplan, --recompute and "
        "--expert-capacity-factor, give --sequence=LENGTH, e.g. --sequence=4096");
  }
}

// Checks that `response` holds what was asked for.
grpc::Status CheckAnswer(const v1::CountModelRequest& request,
                         const v1::CountModelResponse& response) {
  const char* missing = nullptr;
  if (response.parameters().total() == 0) missing = "parameters";
  if (request.has_step() && response.flops().masks().empty()) missing = "FLOPs";
  if (request.has_layout() && response.stages().empty()) missing = "stages";
  if (missing == nullptr) return grpc::Status::OK;
  return {grpc::StatusCode::INTERNAL, absl::StrCat("the answer holds no ", missing)};
}

// The config.json of the model; "" where it is given in another way.
std::string ConfigOf(const CountFlags& count) {
  const auto file = absl::c_find_if(count.files, [](const GivenFields::File& f) {
    return f.flag->field == "model.hugging_face_config";
  });
  return file == count.files.end() ? "" : file->name;
}

grpc::Status Build(const CountFlags& count, std::istream& in, v1::CountModelRequest* request) {
  grpc::Status status = ReadRequestFile(count, in, request);
  if (!status.ok()) return status;
  request->set_include_components(true);
  if (count.sections.conventions) request->set_include_totals(true);
  status = Override(count, count.request, in, request);
  if (count.sections.architecture_alone) request->set_include_architecture(true);
  if (count.request.model().changes().has_adapters()) {
    AddDefaultTargets(request->mutable_model()->mutable_changes());
  }
  return status;
}

std::string TextOf(const CountFlags& count, const v1::CountModelResponse& response) {
  if (count.sections.architecture_alone) return ProtoJson(response.architecture());
  const std::string text = CountText(count.sections, response);
  const std::string index = WeightsIndexWords(ConfigOf(count), response.parameters().total());
  return index.empty() ? text : absl::StrCat(text, Wrap("", index, 2));
}

int RunCount(const CountFlags& count, const CommandLine& line, const Streams& streams) {
  v1::CountModelRequest request;
  grpc::Status status = Build(count, streams.in, &request);
  v1::CountModelResponse response;
  if (status.ok()) {
    status = Call(line.server, &v1::AccountingService::Stub::CountModel, request, &response);
  }
  if (status.ok()) status = CheckAnswer(request, response);
  if (status.ok()) return Show(line, streams, response, [&] { return TextOf(count, response); });
  const auto hint = [&request](const CallError& error) {
    return DefaultTargetsHint(request.model().changes(), error);
  };
  return Fail(status, line, streams,
              {.field = RequestFieldWords<v1::CountModelRequest, kCountRows>,
               .description = RequestDescriptionWords<v1::CountModelRequest, kCountRows>,
               .hint = hint});
}

void AddCountFlags(CLI::App* command, CommandLine* line) {
  const auto count = std::make_shared<CountFlags>();
  CountSections* const sections = &count->sections;
  AddRequestFile(count->request, count.get(), command);
  AddTexts(
      "--sequence-length,--sequence", "count FLOPs: [COUNTx]LENGTH[:ENCODER_LENGTH]; repeatable",
      [count](const std::string& text) {
        count->fields.add_paths("step.sequences");
        return AddSequences(text, count->request.mutable_step());
      },
      command)
      ->type_name("SEQUENCES")
      ->group(kStepGroup);
  command->add_flag("--conventions", sections->conventions, "totals and FLOPs as others count them")
      ->group(kStepGroup);
  command->add_flag("--kaplan", sections->kaplan, "Kaplan's table of FLOPs, row by row")
      ->group(kStepGroup);
  AddFlags(RequestFlags<v1::CountModelRequest, kCountRows>(), count.get(), &count->request,
           command);
  command->get_option("--model")->type_name("");
  command->add_flag("--print-architecture", sections->architecture_alone,
                    "that shape alone, in proto JSON, to be edited");
  OnceRead(command, line, count, RunCount, {.check = [count] { CheckTogether(*count); }});
}

}  // namespace

const Command kCountCommand = {"count", "Count a model's parameters and FLOPs, whole or by GPU",
                               kCountHelp, AddCountFlags};

}  // namespace sextant::client
