#include "client/command/count_command.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
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

constexpr char kStepGroup[] = "Training step";
constexpr char kLayoutGroup[] = "GPUs";

constexpr FieldFlag kCountFlags[] = {
    {"--recompute", "step.recompute", "what the backward pass computes again", kStepGroup},
    {"--expert-capacity-factor", "step.expert_capacity_factor",
     "slots of the experts over tokens routed, e.g. 1.25", kStepGroup},

    {"--tensor-parallel-size,--tp", "layout.tensor_parallel_size", "ranks that share a matrix",
     kLayoutGroup},
    {"--pipeline-parallel-size,--pp", "layout.pipeline_parallel_size", "stages of layers",
     kLayoutGroup},
    {"--virtual-stage-count,--vpp,--virtual-stages", "layout.virtual_stage_count",
     "chunks of layers on each stage", kLayoutGroup},
    {"--expert-parallel-size,--ep", "layout.expert_parallel_size",
     "ranks that the experts are dealt out to", kLayoutGroup},
    {"--expert-tensor-parallel-size,--etp", "layout.expert_tensor_parallel_size",
     "ranks that share an expert; default: --tp", kLayoutGroup},
    {"--split-key-value-heads", "layout.split_key_value_heads",
     "if --tp > KV heads: split heads, don't copy them", kLayoutGroup},
};

constexpr absl::string_view kPresetField = "model.preset";
constexpr char kChunksField[] = "layout.layers_per_chunk";

// Flags whose text is not read by the field's type alone.
constexpr FieldFlag kOtherCountFlags[] = {
    WordFor("--sequence", "step.sequences"),
    WordFor("--layers-per-chunk", kChunksField),
    WordFor("--architecture", "model.architecture", Below::kOwnNames),
    WordFor("--transformer", "model.transformer", Below::kOwnNames),
    WordFor("MODEL", "model.hugging_face_config", Below::kOwnNames),
    WordFor("MODEL", "model.preset"),
    WordFor("MODEL", "model", Below::kUnknown),
};

constexpr FieldFlag kConfigWords[] = {
    WordFor("--config", "model.hugging_face_config", Below::kOwnNames)};

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

// Reads the layers of each chunk, "8x8x7".
absl::Status ReadChunks(absl::string_view text, v1::ParallelLayout* layout) {
  const absl::StatusOr<std::vector<int64_t>> layers = ParseSizes(text);
  if (!layers.ok()) return layers.status();
  layout->mutable_layers_per_chunk()->Assign(layers->begin(), layers->end());
  return absl::OkStatus();
}

void AddModel(CountCommand* count, CLI::App* command) {
  command
      ->add_option("--request", count->request_file,
                   "a CountModelRequest in proto JSON; - is stdin")
      ->type_name("FILE")
      ->check(CheckFileOrInput);
  command->add_option("MODEL,--model,--preset", count->model, kModelHelp)
      ->type_name("")
      ->check(CheckModel);
  const auto add_file = [command](const char* names, std::string& file, const char* help) {
    command->add_option(names, file, help)->type_name("FILE")->check(CheckFileOrInput);
  };
  add_file("--architecture", count->architecture_file,
           "instead of it: an Architecture in proto JSON");
  add_file("--transformer", count->transformer_file, "or a TransformerSpec in proto JSON");
  add_file("--hugging-face-config,--config", count->config_file,
           "or a model's config.json, as MODEL may be");
}

// The number of ways in which flags give the model.
int WaysOf(const CountCommand& count) {
  int ways = count.request.model().has_parameter_count() ? 1 : 0;
  for (const std::string& way :
       {count.model, count.architecture_file, count.transformer_file, count.config_file}) {
    if (!way.empty()) ++ways;
  }
  return ways;
}

// Checks combinations of flags that are each valid.
void CheckTogether(const CountCommand& count) {
  const int ways = WaysOf(count);
  if (ways == 0 && !count.request_file.empty()) return;  // the server checks the file
  if (ways != 1) {
    throw CLI::ValidationError(
        "give the model in one way: a preset's name, a config.json, --architecture or "
        "--transformer");
  }
  const bool counts_flops =
      count.sections.conventions || count.sections.kaplan || count.request.has_step();
  if (counts_flops && count.request_file.empty() && count.request.step().sequences().empty()) {
    throw CLI::ValidationError(
        "FLOPs depend on how long sequences are: with --conventions, --kaplan, --recompute and "
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

int RunCount(const CountCommand& count, const CommandLine& line, const Streams& streams) {
  v1::CountModelRequest request;
  grpc::Status status = BuildCountRequest(count, streams.in, &request);
  v1::CountModelResponse response;
  if (status.ok()) {
    status = Call(line.server, &v1::AccountingService::Stub::CountModel, request, &response);
  }
  if (status.ok()) status = CheckAnswer(request, response);
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field =
                     [&count](const std::string& field) {
                       // "MODEL" may be the file too.
                       return count.config_file.empty()
                                  ? CountFieldWords(field)
                                  : FieldWordsOf({kConfigWords, CountFlags(), kOtherCountFlags},
                                                 field);
                     },
                 .description = CountDescriptionWords,
                 .hint =
                     [&request](const CallError& error) {
                       return DefaultTargetsHint(request.model().changes(), error);
                     }});
  }
  if (line.json()) {
    streams.out << ProtoJson(response);
  } else if (count.sections.architecture_alone) {
    streams.out << ProtoJson(response.architecture());
  } else {
    streams.out << Printable(CountText(count.sections, response));
    const std::string index = WeightsIndexWords(request.model().hugging_face_config().empty() ? ""
                                                : count.config_file.empty() ? count.model
                                                                            : count.config_file,
                                                response.parameters().total());
    if (!index.empty()) streams.out << Printable(Wrap("", index, 2));
  }
  return kExitFits;
}

}  // namespace

std::vector<FieldFlag> CountFlags() {
  std::vector<FieldFlag> flags(std::begin(kCountFlags), std::end(kCountFlags));
  for (const FieldFlag& flag : PlanFlags()) {
    const auto* const field = FindField(*v1::CountModelRequest::descriptor(), flag.field);
    const bool is_own = field == nullptr || IsFile(FormOf(*field)) || flag.field == kPresetField;
    if (!is_own) flags.push_back(flag);
  }
  return flags;
}

void AddCountFlags(CountCommand* count, CLI::App* command) {
  v1::CountModelRequest* request = &count->request;
  AddModel(count, command);
  AddFieldFlag({"--include-tensors,--tensors", "include_tensors", "list every parameter tensor"},
               request, command, &count->given);
  AddFieldFlag({"--include-architecture,--shape", "include_architecture",
                "its shape too, as --architecture reads it"},
               request, command, &count->given);
  AddTexts(
      "--sequence-length,--sequence", "count FLOPs: [COUNTx]LENGTH[:ENCODER_LENGTH]; repeatable",
      [count](const std::string& text) {
        count->given.add_paths("step.sequences");
        return AddSequences(text, count->request.mutable_step());
      },
      command)
      ->type_name("SEQUENCES")
      ->group(kStepGroup);
  command->add_flag("--print-architecture", count->sections.architecture_alone,
                    "that shape alone, in proto JSON, to be edited");
  command
      ->add_flag("--conventions", count->sections.conventions,
                 "totals and FLOPs as others count them")
      ->group(kStepGroup);
  command->add_flag("--kaplan", count->sections.kaplan, "Kaplan's table of FLOPs, row by row")
      ->group(kStepGroup);
  for (const FieldFlag& flag : CountFlags()) AddFieldFlag(flag, request, command, &count->given);
  AddText(
      "--layers-per-chunk", "of each, 8x8x8x7; default: as many in each",
      [count](const std::string& text) {
        count->given.add_paths("layout.layers_per_chunk");
        return ReadChunks(text, count->request.mutable_layout());
      },
      command)
      ->type_name("SIZES")
      ->group(kLayoutGroup);
}

void AddCountFlags(CLI::App* command, CommandLine* line) {
  const auto count = std::make_shared<CountCommand>();
  AddCountFlags(count.get(), command);
  OnceRead(command, line, count, RunCount, {.check = [count] { CheckTogether(*count); }});
}

grpc::Status BuildCountRequest(const CountCommand& command, std::istream& in,
                               v1::CountModelRequest* request) {
  if (!command.request_file.empty()) {
    grpc::Status read = ReadMessage(command.request_file, in, request);
    if (!read.ok()) return read;
  }
  if (WaysOf(command) > 0) request->clear_model();
  SetFields(command.given, command.request, request);
  request->set_include_components(true);
  if (command.sections.conventions) request->set_include_totals(true);
  if (command.sections.architecture_alone) request->set_include_architecture(true);
  v1::ModelSpec* model = request->mutable_model();
  if (command.request.model().changes().has_adapters()) {
    AddDefaultTargets(model->mutable_changes());
  }
  if (!command.architecture_file.empty()) {
    return ReadMessage(command.architecture_file, in, model->mutable_architecture());
  }
  if (!command.transformer_file.empty()) {
    return ReadMessage(command.transformer_file, in, model->mutable_transformer());
  }
  const std::string& config = command.config_file.empty() ? command.model : command.config_file;
  if (config.empty()) return grpc::Status::OK;
  if (command.config_file.empty() && !IsConfigFile(config)) {
    model->set_preset(config);
    return grpc::Status::OK;
  }
  return ReadConfig(config, config == "-" ? "standard input" : config, in,
                    model->mutable_hugging_face_config());
}

std::string CountFieldWords(const std::string& field) {
  return FieldWordsOf({CountFlags(), kOtherCountFlags}, field);
}

std::string CountDescriptionWords(const std::string& text) {
  std::vector<FieldFlag> flags = CountFlags();
  flags.push_back(WordFor("--layers-per-chunk", kChunksField));
  return DescriptionWordsOf({flags}, text);
}

const Command kCountCommand = {"count", "Count a model's parameters and FLOPs, whole or by GPU",
                               kCountHelp, AddCountFlags};

}  // namespace sextant::client
