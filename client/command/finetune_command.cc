// `sextant finetune`: full fine-tuning, LoRA and QLoRA of one model side by side.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/command/launcher_flags.h"
#include "client/command/open_layout.h"
#include "client/command/plan_request.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/plan_flags.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/report/memory_text.h"
#include "client/report/planned_run.h"
#include "client/report/whole_run_text.h"
#include "client/text/text.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kFinetuneHelp[] =
    "Plans three ways to fine-tune a model, each with the fastest layout of a bounded search:\n"
    "  full   all parameters are trained\n"
    "  lora   adapters alone (--lora-rank=16 --lora-targets=all-linear --freeze-base)\n"
    "  qlora  the same on a base in 4 bits (--frozen-data-type=fp4 --frozen-block-size=64\n"
    "         --double-quantization)\n"
    "Flags are those of sextant plan, and hold for each that has what they set. Left out, --gbs "
    "is\n"
    "8 sequences a device, --sequence-length 1024 and --framework deepspeed; docs/sizing.md has "
    "the\n"
    "sources. --method plans one alone, of which --emit writes the launcher's file. JSON is of\n"
    "BatchPlanRuns, runs in the order above. The exit code is that of the best run: 0 where one\n"
    "fits. Waits 120 s, unless --timeout says otherwise.\n"
    "\n"
    "Examples:\n"
    "  Which of them fits on eight GPUs, and what does it cost?\n"
    "    sextant finetune llama-3.1-70b --tokens=100M --accelerator=h100-sxm --devices=8 \\\n"
    "        --device-hour-price-usd=2.5\n"
    "  DeepSpeed's configuration of LoRA on longer sequences:\n"
    "    sextant finetune llama-3.1-8b --tokens=100M --accelerator=h100-sxm --devices=8 \\\n"
    "        --sequence-length=8192 --method=lora --emit=deepspeed\n";

constexpr char kMethods[] = "full|lora|qlora";

constexpr absl::string_view kRankField = "model.changes.adapters.rank";
constexpr absl::string_view kTargetsField = "model.changes.adapters.targets";
constexpr absl::string_view kFrozenField = "model.changes.base_frozen";

// Source: PEFT's developer guide to quantization, whose LoraConfig has r=16.
constexpr int64_t kLoraRank = 16;
// Source: Dettmers et al. 2023 (QLoRA, arXiv 2305.14314), section 4: adapters on all linear layers
// are needed to match full fine-tuning.
constexpr char kLoraTargets[] = "all-linear";
// Source: the same, section 3: NF4 in blocks of 64.
constexpr int64_t kFrozenBlockSize = 64;
// Source: TRL, SFTConfig.max_length; Transformers, TrainingArguments.per_device_train_batch_size.
constexpr int64_t kSequenceLength = 1024;
constexpr int64_t kSequencesPerDevice = 8;

struct FinetuneFlags {
  PlanRequestFlags plan;
  Emission emission;
  std::string method;  // "" for all
};

std::vector<std::string> MethodsOf(const FinetuneFlags& flags) {
  if (!flags.method.empty()) return {flags.method};
  return absl::StrSplit(kMethods, '|');
}

// Sets what methods share, unless the request has it.
void FillInDefaults(v1::PlanRunRequest* run) {
  v1::TrainingSpec& training = *run->mutable_training();
  if (training.sequence_length() == 0) training.set_sequence_length(kSequenceLength);
  v1::RunLayout& layout = *run->mutable_layout();
  const int64_t devices = run->cluster().device_count();
  int64_t batch = 0;
  if (!layout.has_global_batch_size() && devices > 0) {
    // The server refuses a batch out of range.
    layout.set_global_batch_size(
        __builtin_mul_overflow(kSequencesPerDevice, devices, &batch) ? INT64_MAX : batch);
  }
  v1::ModelChanges::Adapters& adapters =
      *run->mutable_model()->mutable_changes()->mutable_adapters();
  if (adapters.rank() == 0) adapters.set_rank(kLoraRank);
  if (adapters.targets().empty()) adapters.add_targets(kLoraTargets);
  v1::WeightStorage& storage = *layout.mutable_storage();
  if (storage.frozen_data_type() != v1::DATA_TYPE_UNSPECIFIED) return;
  storage.set_frozen_data_type(v1::DATA_TYPE_FP4);
  if (!storage.has_frozen_block_size()) storage.set_frozen_block_size(kFrozenBlockSize);
  storage.set_double_quantization(true);
}

// Turns the run of QLoRA into that of a method.
void Reduce(const std::string& method, v1::PlanRunRequest* run) {
  run->mutable_model()->mutable_changes()->set_base_frozen(method != "full");
  if (method == "qlora") return;
  v1::WeightStorage& storage = *run->mutable_layout()->mutable_storage();
  storage.clear_frozen_data_type();
  storage.clear_frozen_block_size();
  storage.clear_double_quantization();
  if (storage.ByteSizeLong() == 0) run->mutable_layout()->clear_storage();
  if (method == "full") run->mutable_model()->mutable_changes()->clear_adapters();
}

grpc::Status BuildMethods(const FinetuneFlags& flags, const CommandLine& line,
                          const Streams& streams, v1::BatchPlanRunsRequest* batch) {
  if (flags.emission.wanted() && flags.method.empty()) {
    return RefusalStatus("USAGE", "--emit writes one method's file: give --method too");
  }
  PlanRequestFlags given = flags.plan;
  if (given.Sets(kFrozenField)) {
    return RefusalStatus("USAGE", "each method says what is frozen: leave out --freeze-base");
  }
  // Else sextant plan's default targets are filled in.
  if (given.Sets(kRankField) && !given.Sets(kTargetsField)) {
    given.fields.add_paths(std::string(kTargetsField));
    given.request.mutable_model()->mutable_changes()->mutable_adapters()->add_targets(kLoraTargets);
  }
  v1::PlanRunRequest run;
  grpc::Status status = BuildPlanRequest(given, line.server, streams, &run);
  if (!status.ok()) return status;
  FillInDefaults(&run);
  ClearOptionsOfOne(flags.plan.fields, run.mutable_options());
  StartNow(streams.now(), &run);
  for (const std::string& method : MethodsOf(flags)) {
    v1::PlanRunRequest* const added = batch->add_runs();
    *added = run;
    Reduce(method, added);
    if (status.ok()) status = PrepareEmission(flags.emission, line, added);
    v1::FrameworkMemory& framework = *added->mutable_layout()->mutable_framework();
    if (framework.kind() == v1::FrameworkMemory::KIND_UNSPECIFIED) {
      framework.set_kind(v1::FrameworkMemory::KIND_DEEPSPEED);
    }
    if (LeavesLayoutOpen(*added)) {
      added->mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
    }
  }
  return status;
}

// The request, its answer and the file that was written.
struct Tuned {
  v1::BatchPlanRunsRequest request;
  v1::BatchPlanRunsResponse response;
  EmittedFile emitted;
};

// Writes the launcher's file of the one method, planned once more with all layouts that were found:
// puts what it writes into `*tuned`.
grpc::Status EmitMethod(const Emission& emission, const CommandLine& line, Tuned* tuned) {
  v1::PlanRunRequest& request = *tuned->request.mutable_runs(0);
  ShowAll(&request);
  v1::PlanRunResponse planned;
  grpc::Status status = Call(line.server, &v1::PlanningService::Stub::PlanRun, request, &planned);
  if (status.ok()) status = Emit(emission, line, &request, &planned, &tuned->emitted);
  if (status.ok()) *tuned->response.mutable_runs(0)->mutable_plan() = planned.plan();
  return status;
}

// Why the first method has no plan, where none has one; else OK.
grpc::Status RefusalOfAll(const v1::BatchPlanRunsResponse& response) {
  if (absl::c_any_of(response.runs(), [](const v1::PlannedRun& run) { return run.has_plan(); })) {
    return grpc::Status::OK;
  }
  const google::rpc::Status& status = response.runs(0).status();
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
          status.SerializeAsString()};
}

grpc::Status AskForMethods(const FinetuneFlags& flags, const CommandLine& line,
                           const Streams& streams, Tuned* out) {
  grpc::Status status = BuildMethods(flags, line, streams, &out->request);
  if (status.ok()) {
    status =
        Call(line.server, &v1::PlanningService::Stub::BatchPlanRuns, out->request, &out->response);
  }
  if (status.ok() && out->response.runs_size() != out->request.runs_size()) {
    status = Incomplete("plan for each method");
  }
  if (status.ok()) status = RefusalOfAll(out->response);
  return status.ok() && flags.emission.wanted() ? EmitMethod(flags.emission, line, out) : status;
}

std::string MethodsText(const FinetuneFlags& flags, const ServerAddress& server, const Tuned& tuned,
                        absl::Time now) {
  std::vector<TuningMethod> methods;
  for (const std::string& name : MethodsOf(flags)) {
    const auto index = static_cast<int>(methods.size());
    methods.push_back({.name = name, .launchers = LaunchersOf(server, tuned.request.runs(index))});
  }
  return Printable(FinetuneText(methods, tuned.request, tuned.response, now));
}

int RunFinetune(const FinetuneFlags& flags, const CommandLine& line, const Streams& streams) {
  Tuned tuned;
  const grpc::Status status = AskForMethods(flags, line, streams, &tuned);
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = FieldOfRun, .description = PlanDescriptionWords});
  }
  if (!flags.emission.file.empty()) {
    const absl::Status written = WriteText(flags.emission.file, tuned.emitted.text);
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  streams.err << EmissionNotes(tuned.emitted);
  const int best = BestRun(tuned.response);
  const int exit_code =
      best < 0 ? kExitInternal : *ExitCodeOfPlan(tuned.response.runs(best).plan());
  if (flags.emission.wanted() && flags.emission.file.empty()) {
    // Nothing else says that the layout is not one to launch.
    if (exit_code != kExitFits)
      streams.err << MethodsText(flags, line.server, tuned, streams.now());
    streams.out << tuned.emitted.text;
    return exit_code;
  }
  streams.out << (line.json() ? ProtoJson(tuned.response)
                              : MethodsText(flags, line.server, tuned, streams.now()));
  return exit_code;
}

void AddFinetuneFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<FinetuneFlags>();
  AddRunSources(&flags->plan, line, command);
  AddChoices(command->add_option("--method", flags->method, "plan this one alone"), kMethods);
  AddRunFlags(&flags->plan, command);
  AddEmission(&flags->emission, command);
  OnceRead(command, line, flags, RunFinetune, {.seconds = kManyRunsSeconds});
}

}  // namespace

const Command kFinetuneCommand = {"finetune", "Plan full fine-tuning, LoRA and QLoRA side by side",
                                  kFinetuneHelp, AddFinetuneFlags};

}  // namespace sextant::client
