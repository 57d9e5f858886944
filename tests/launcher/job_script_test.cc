// Job scripts, and MLPerf's configurations, as people write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/launcher/file_format.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Read by the format that recognises it, whose name is `format`.
LauncherRead ReadText(const std::string& text, const std::string& format) {
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.status();
    return {};
  }
  const FileFormat* const found = FormatOf(*parsed);
  EXPECT_EQ(found == nullptr ? "" : std::string(found->name), format);
  if (found == nullptr || found->read == nullptr) return {};
  const absl::StatusOr<LauncherRead> read = found->read(*parsed, true);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *read : LauncherRead{};
}

v1::PlanRunRequest Completed(const LauncherRead& read) {
  v1::PlanRunRequest out;
  Merge(read, &out);
  Complete(read, &out);
  return out;
}

LauncherRead ReadScript(const std::string& text) {
  const absl::StatusOr<LauncherRead> read = ReadJobScript(text, true);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

int64_t DevicesOfScript(const std::string& text) {
  return ReadScript(text).request.cluster().device_count();
}

TEST(JobScript, ReadsArraysOfArguments) {
  const LauncherRead read = ReadText(LauncherGolden("array.sbatch"), "job script");
  const v1::PlanRunRequest request = Completed(read);
  EXPECT_EQ(request.cluster().device_count(), 32);  // 4 x 8
  EXPECT_EQ(request.cluster().device().accelerator(), "h100");
  EXPECT_EQ(request.cluster().host_memory_bytes(), int64_t{1500} << 30);
  EXPECT_EQ(request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(request.layout().parallel().pipeline_parallel_size(), 2);
  EXPECT_EQ(request.layout().micro_batch_size(), 2);
  EXPECT_EQ(request.layout().global_batch_size(), 128);  // 32 x 4
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(request.model().architecture().decoder().layers(0).count(), 24);
  EXPECT_EQ(request.model().architecture().output().head(), v1::OUTPUT_HEAD_UNTIED);
  EXPECT_THAT(read.open, ElementsAre("--train-iters $ITERS"));
  const std::string branch = "TRAIN_ARGS+=(--recompute-granularity full) (in a branch)";
  EXPECT_THAT(read.ignored, Contains(branch));
  EXPECT_THAT(read.passed, Contains("--data-path"));
  EXPECT_THAT(LoweringOf(read), ElementsAre(branch));
  EXPECT_THAT(read.passed, IsSupersetOf({"#SBATCH --time", "#SBATCH --partition"}));
}

// 22 layers, the embedding and the head on 6 stages: 4 each.
TEST(JobScript, ReadsQuotedBlocksOfMegatronDeepspeed) {
  const LauncherRead read = ReadText(LauncherGolden("quoted.sbatch"), "job script");
  const v1::PlanRunRequest request = Completed(read);
  const v1::Architecture& model = request.model().architecture();
  EXPECT_EQ(request.cluster().device_count(), 48);  // 6 x 8
  EXPECT_THAT(request.layout().parallel().layers_per_chunk(), ElementsAre(3, 4, 4, 4, 4, 3));
  EXPECT_EQ(request.layout().framework().kind(), v1::FrameworkMemory::KIND_DEEPSPEED);
  // In bf16 and a pipeline, stage 0 divides the optimizer's state.
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(request.layout().kernels().recomputed_layers_per_block(), 2);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(request.training().token_count(), 20'480'000'000);  // 10^7 x 2048
  EXPECT_EQ(request.layout().micro_batch_size(), 2);
  EXPECT_EQ(model.embedding().vocabulary_size(), 250880);
  EXPECT_EQ(model.decoder().learned_position_count(), 0);
  EXPECT_TRUE(model.decoder().embedding_norm());
  EXPECT_THAT(LoweringOf(read), ElementsAre("--partition-activations"));
  EXPECT_THAT(read.open, UnorderedElementsAre("the devices' a100",
                                              "--deepspeed_config ./ds_config.$SLURM_JOB_ID.json"));
  EXPECT_FALSE(request.cluster().has_device());  // of two sizes of memory
}

TEST(JobScript, ReadsTheNamesOf2020) {
  const LauncherRead read = ReadText(LauncherGolden("oldest.script"), "job script");
  const v1::PlanRunRequest request = Completed(read);
  EXPECT_EQ(request.cluster().device_count(), 16);
  EXPECT_EQ(request.layout().parallel().tensor_parallel_size(), 8);
  EXPECT_EQ(request.layout().global_batch_size(), 8);  // 4 on each of 2 ranks
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_FP16);
  EXPECT_THAT(LoweringOf(read), UnorderedElementsAre("--distribute-checkpointed-activations",
                                                     "--fp16-lm-cross-entropy"));
  EXPECT_THAT(read.passed, Contains("--DDP-impl"));
}

TEST(JobScript, ReadsWhatATorchtitanCommandOverrides) {
  const LauncherRead read = ReadText(LauncherGolden("titan.script"), "job script");
  EXPECT_EQ(read.request.cluster().device_count(), 8);
  EXPECT_EQ(read.request.training().sequence_length(), 4096);
  EXPECT_EQ(read.request.layout().micro_batch_size(), 2);
  EXPECT_EQ(read.request.layout().parallel().tensor_parallel_size(), 2);
  EXPECT_EQ(read.request.layout().framework().kind(), v1::FrameworkMemory::KIND_TORCHTITAN);
  EXPECT_THAT(read.wants, ElementsAre("./train_configs/llama3_8b.toml"));
  EXPECT_THAT(read.ignored, Contains("overrides=$* (in a branch)"));
}

// A script that is written is read as its arguments are.
TEST(JobScript, ReadsWhatIsWritten) {
  LaunchedRun run = DenseLaunch(
      R"({"layout": {"sequence_parallel": true, "parallel": {
            "tensor_parallel_size": 2, "pipeline_parallel_size": 4,
            "layers_per_chunk": [7, 8, 9, 8]}}})");
  run.devices_per_node = 8;
  run.script = "pretrain_gpt.py";
  const absl::StatusOr<LauncherFile> script = WriteSlurm(run);
  ASSERT_TRUE(script.ok()) << script.status();
  const absl::StatusOr<LauncherFile> arguments = WriteMegatron(run);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const absl::StatusOr<LauncherRead> expected = ReadMegatron(arguments->text, true);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const LauncherRead read = ReadText(script->text, "job script");
  EXPECT_EQ(DifferencesOf(RequestAsRead(*expected, run.request), Completed(read)), "");
  EXPECT_THAT(read.ignored, IsEmpty());
  EXPECT_THAT(read.open, ElementsAre("$@"));
}

TEST(JobScript, CountsDevicesByEveryOptionOfSlurm) {
  const std::string run = "srun python pretrain_gpt.py --micro-batch-size 1\n";
  const auto devices = [&](const std::string& options) {
    return DevicesOfScript("#!/bin/bash\n" + options + run);
  };
  EXPECT_EQ(devices("#SBATCH -N4\n#SBATCH --gpus-per-node=8\n"), 32);
  EXPECT_EQ(devices("#SBATCH --nodes 4 --gpus-per-node h100:4\n"), 16);
  EXPECT_EQ(devices("#SBATCH -N 2\n#SBATCH --gres=nvme:1,gpu:a100:8\n"), 16);
  EXPECT_EQ(devices("#SBATCH --gres=gpu:4\n"), 4);
  EXPECT_EQ(devices("#SBATCH --gres=gpu\n"), 1);
  EXPECT_EQ(devices("#SBATCH -G 24\n"), 24);
  EXPECT_EQ(devices("#SBATCH --gpus=h200:24\n"), 24);
  EXPECT_EQ(devices("#SBATCH -N 3 --ntasks-per-node=8 --gpus-per-task=1\n"), 24);
  EXPECT_EQ(devices("#SBATCH -n 16 --gpus-per-task=2\n"), 32);
  EXPECT_EQ(devices("##SBATCH -N 4\n#SBATCH --gres=gpu:2\n"), 2);
  EXPECT_EQ(devices("echo\n#SBATCH --gres=gpu:2\n"), 0);  // after the first command
  EXPECT_THAT(ReadScript("#SBATCH -N 2-4\n#SBATCH --gres=gpu:x:y:8\n" + run).open,
              UnorderedElementsAre("#SBATCH --nodes=2-4", "#SBATCH --gres=gpu:x:y:8"));
}

TEST(JobScript, CountsDevicesByEveryLauncher) {
  const auto devices = [](const std::string& launcher) {
    return DevicesOfScript(launcher + " train.py --micro-batch-size 1");
  };
  EXPECT_EQ(devices("torchrun --nnodes 2 --nproc_per_node=4 --standalone"), 8);
  EXPECT_EQ(devices("torchrun --nproc-per-node 4"), 4);
  EXPECT_EQ(devices("torchrun --nnodes=1:4 --nproc-per-node=gpu"), 0);
  EXPECT_EQ(devices("python3 -u -m torch.distributed.launch --use_env --nproc_per_node 2"), 2);
  EXPECT_EQ(devices("deepspeed --num_nodes 2 --num_gpus 8 --master_port 1"), 16);
  EXPECT_EQ(devices("accelerate launch --multi_gpu --num_machines 2 --num_processes 16"), 16);
  EXPECT_EQ(devices("mpirun -np 8 python"), 8);
  EXPECT_EQ(devices("srun -N 2 --gpus-per-node=4 bash -c 'echo' ; srun -N 2 --gpus-per-node=4"), 8);
  EXPECT_EQ(devices("srun srun -N 2 --gpus-per-node=4 python"), 8);
  EXPECT_EQ(devices("CUDA_VISIBLE_DEVICES=0,1 nohup torchrun --nproc_per_node 2"), 2);
  EXPECT_THAT(ReadScript("accelerate launch --config_file a.yaml train.py --num-layers 2 "
                         "--hidden-size 64 --num-attention-heads 4 --vocab-size 8 "
                         "--position-embedding-type rope")
                  .wants,
              ElementsAre("a.yaml"));
}

// Variables say it where the program starts its own processes.
TEST(JobScript, CountsDevicesByVariables) {
  const std::string swift = "swift sft --model a/b --train_type full --torch_dtype bfloat16\n";
  EXPECT_EQ(DevicesOfScript("#!/bin/bash\nNPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 " + swift),
            4);
  EXPECT_EQ(DevicesOfScript("export NNODES=2\nN=8\nNPROC_PER_NODE=$N \\\n" + swift), 16);
  EXPECT_EQ(DevicesOfScript("CUDA_VISIBLE_DEVICES=3 \\\n" + swift), 1);
  EXPECT_EQ(DevicesOfScript("CUDA_VISIBLE_DEVICES=0,1 \\\n" + swift), 0);  // may share a model
  const std::string factory = "llamafactory-cli train run.yaml\n";
  EXPECT_EQ(DevicesOfScript("export CUDA_VISIBLE_DEVICES=0,1\n" + factory), 2);
}

TEST(JobScript, TakesTheLineThatTrains) {
  EXPECT_EQ(ReadScript("python tokenize.py --micro-batch-size 9\n"
                       "torchrun --nproc_per_node 2 pretrain_gpt.py --micro-batch-size 3\n"
                       "python convert.py --micro-batch-size 8\n")
                .request.layout()
                .micro_batch_size(),
            3);
  EXPECT_THAT(ReadScript("if [ $X ]; then torchrun a.py --micro-batch-size 3; fi").ignored,
              Contains("the branch that starts a.py"));
  EXPECT_EQ(ReadScript("CMD='torchrun a.py --micro-batch-size 3'\neval $CMD")
                .request.layout()
                .micro_batch_size(),
            3);
}

// Another script starts what it exports.
TEST(JobScript, ReadsArgumentsThatNothingStarts) {
  const LauncherRead read = ReadScript(
      "#!/bin/bash\nTP=4\nexport ARGS=\" $MORE --tensor-model-parallel-size $TP\n --fp16\"\n");
  EXPECT_EQ(read.request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(read.request.training().precision().compute_data_type(), v1::DATA_TYPE_FP16);
  EXPECT_THAT(read.open, ElementsAre("$MORE"));
  EXPECT_EQ(ReadScript("X=\"cd a; python b.py --micro-batch-size 3\"\nsbatch run.sub")
                .request.layout()
                .micro_batch_size(),
            3);
}

TEST(JobScript, SaysWhatItLacks) {
  const auto error_of = [](const std::string& text) { return ReadJobScript(text, true).status(); };
  ExpectSays(error_of("#SBATCH -N 4\necho"), "it has no line that starts a training program");
  ExpectSays(error_of("torchrun a.py --micro-batch-size 'x'"), "write a whole number from 1 on");
}

TEST(JobScript, LeavesSettingsOfOpenVariablesOpen) {
  const LauncherRead read = ReadScript(
      "torchrun a.py --bf16 $EXTRA_ARGS --micro-batch-size $MBS --seq-length=${LEN} "
      "--recompute-modules core_attn $MORE --lr 1 \"$@\"");
  EXPECT_THAT(read.open,
              UnorderedElementsAre("$EXTRA_ARGS", "--micro-batch-size $MBS", "--seq-length=$LEN",
                                   "--recompute-modules core_attn $MORE", "$@"));
  EXPECT_EQ(read.request.training().precision().compute_data_type(), v1::DATA_TYPE_BF16);
}

// Its text is refused of other kinds by what they lack; of the truth see cases_3b.jsonl.
TEST(JobScript, DividesBloomWithItsEnds) {
  const LauncherRead read = ReadScript(
      "#!/bin/bash\n#SBATCH --nodes=48\n#SBATCH --gres=gpu:8\nDEPTH=70\n"
      "A=\" --num-layers $DEPTH --pipeline-model-parallel-size 12 --train-samples 220_000_000\n"
      " --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --pad-vocab-size-to "
      "250880\"\n"
      "srun python -m torch.distributed.run --nproc_per_node 8 pretrain_gpt.py $A");
  const v1::PlanRunRequest request = Completed(read);
  EXPECT_EQ(request.cluster().device_count(), 384);
  EXPECT_THAT(request.layout().parallel().layers_per_chunk(),
              ElementsAre(5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5));
  EXPECT_EQ(request.layout().framework().kind(), v1::FrameworkMemory::KIND_DEEPSPEED);
  EXPECT_THAT(read.open, Contains(HasSubstr("12 stages don't divide 70 layers")));
  EXPECT_EQ(request.training().token_count(), 450'560'000'000);  // 2.2e8 x 2048
}

TEST(JobScript, SurvivesAnyCut) {
  for (const char* const file : {"quoted.sbatch", "titan.script", "oldest.script"}) {
    TryEveryCut(
        file, std::string("\0(9$\"\n-=", 8),
        [](const std::string& text) { (void)ReadJobScript(text, true); }, 3);
  }
}

// 128 x 8 devices; 8 x 8 x 2 of them hold a model: 8 ranks of 36 samples.
TEST(Mlperf, ReadsLlama405b) {
  const LauncherRead read = ReadText(LauncherGolden("llama_405b.mlperf"), "MLPerf configuration");
  const v1::PlanRunRequest request = Completed(read);
  EXPECT_EQ(request.cluster().device_count(), 1024);
  EXPECT_EQ(request.layout().global_batch_size(), 288);
  EXPECT_EQ(request.model().preset(), "llama-3.1-405b");
  EXPECT_EQ(request.training().sequence_length(), 8192);
  EXPECT_EQ(request.training().token_count(), 943'718'400);  // 400 x 288 x 8192
  EXPECT_EQ(request.layout().parallel().virtual_stage_count(), 8);
  const auto& chunks = request.layout().parallel().layers_per_chunk();
  ASSERT_EQ(chunks.size(), 64);  // 126 layers and both ends: 2 each
  EXPECT_EQ(chunks.Get(0), 1);
  EXPECT_EQ(chunks.Get(1), 2);
  EXPECT_EQ(chunks.Get(63), 1);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_FP8);
  EXPECT_EQ(request.training().precision().weight_data_type(), v1::DATA_TYPE_FP8);
  EXPECT_EQ(request.layout().framework().kind(), v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_THAT(read.wants, ElementsAre("config_common.sh", "config_common_405b.sh"));
  EXPECT_LT(request.layout().software().tensor_exchange_exposure(), 1);
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(Mlperf, ReadsLoraOnLlama70b) {
  const LauncherRead read = ReadText(LauncherGolden("lora.mlperf"), "MLPerf configuration");
  const v1::PlanRunRequest request = Completed(read);
  EXPECT_EQ(request.cluster().device_count(), 16);     // 2 servers of 8 by default
  EXPECT_EQ(request.layout().global_batch_size(), 8);  // 4 ranks of 2
  EXPECT_EQ(request.model().preset(), "llama-2-70b");
  EXPECT_EQ(request.model().changes().adapters().rank(), 16);
  EXPECT_TRUE(request.model().changes().base_frozen());
  EXPECT_TRUE(request.layout().sequence_parallel());
  EXPECT_EQ(request.layout().context_parallel_size(), 2);
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_NONE);
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(Mlperf, KnowsEveryFieldOfItsTable) {
  const auto file = [](const std::string& more) {
    return ReadText("export DGXNNODES=1\nexport TENSOR_MODEL_PARALLEL=2\nexport MINIBS=4\n" + more,
                    "MLPerf configuration");
  };
  EXPECT_EQ(file("export SEQ_PARALLEL=False").request.layout().sequence_parallel(), false);
  EXPECT_EQ(file("export FP4=True").request.training().precision().compute_data_type(),
            v1::DATA_TYPE_NVFP4);
  EXPECT_THAT(file("export FP8=True FP8_RECIPE=tensorwise").ignored, ElementsAre("FP8_RECIPE"));
  EXPECT_EQ(
      file("export INTERLEAVED_PIPELINE=null").request.layout().parallel().virtual_stage_count(),
      0);
  EXPECT_THAT(file("export MICRO_BATCH_SIZE=$X").open, Contains("MICRO_BATCH_SIZE"));
  EXPECT_EQ(file("MODEL_SIZE=8b").request.model().preset(), "llama-3.1-8b");
}

// By default all is hidden that Megatron-Bridge's stack hides; a switch that is off is priced so.
TEST(Mlperf, PricesOverlapsThatAreOff) {
  const auto file = [](const std::string& more) {
    return ReadText("export DGXNNODES=1\nexport TENSOR_MODEL_PARALLEL=2\nexport MINIBS=4\n" + more,
                    "MLPerf configuration");
  };
  const auto software = [&](const std::string& more) {
    return file(more).request.layout().software();
  };
  EXPECT_FALSE(software("export OVERLAP_GRAD_REDUCE=True OVERLAP_PARAM_GATHER=1")
                   .has_data_exchange_overlap());
  EXPECT_EQ(software("export OVERLAP_GRAD_REDUCE=False").data_exchange_overlap(), 0);
  EXPECT_EQ(software("export OVERLAP_GRAD_SYNC=0").data_exchange_overlap(), 0);
  // Gradients of 4 bytes are two thirds of what is exchanged, of which 0.9 are hidden.
  const double alone = 0.9 * 4 / (4 + 2);
  for (const char* const name : {"OVERLAP_PARAM_GATHER", "OVERLAP_PARAM_SYNC"}) {
    const std::string off = absl::StrCat("export ", name, "=False FP8=False");
    EXPECT_DOUBLE_EQ(software(off).data_exchange_overlap(), alone) << name;
    EXPECT_TRUE(software(off).has_data_exchange_overlap());
    // All ranks hold all state: nothing is gathered.
    EXPECT_FALSE(software(off + " USE_DIST_OPTIMIZER=False").has_data_exchange_overlap()) << name;
  }
  EXPECT_EQ(software("export OVERLAP_P2P_COMM=False").pipeline_exchange_exposure(), 1);
  const double hidden = software("export TP_COMM_OVERLAP=True").tensor_exchange_exposure();
  EXPECT_LT(hidden, 1);
  EXPECT_EQ(software("export TP_COMM_OVERLAP=True MC_TP_OVERLAP_AG=True MC_TP_OVERLAP_RS=True "
                     "MC_TP_OVERLAP_RS_DGRAD=False")
                .tensor_exchange_exposure(),
            hidden);
  const LauncherRead part = file("export TP_COMM_OVERLAP=True MC_TP_OVERLAP_RS=False");
  EXPECT_EQ(part.request.layout().software().tensor_exchange_exposure(), 1);
  EXPECT_THAT(part.ignored, ElementsAre("MC_TP_OVERLAP_RS"));
  EXPECT_THAT(file("export OVERLAP_PARAM_GATHER_WITH_OPTIM_STEP=False").ignored, IsEmpty());
}

TEST(Mlperf, ReadsGraphs) {
  const auto file = [](const std::string& more) {
    return ReadText("export DGXNNODES=1\nexport TENSOR_MODEL_PARALLEL=2\nexport MINIBS=4\n" + more,
                    "MLPerf configuration");
  };
  const auto captures = [&](const std::string& more) {
    return file(more).request.layout().framework().captured_graphs();
  };
  EXPECT_TRUE(captures("export FULL_CUDA_GRAPH=1 MCORE_CUDA_GRAPH=1"));
  EXPECT_TRUE(captures("export LAYER_CUDA_GRAPH=1"));
  EXPECT_FALSE(captures("export LAYER_CUDA_GRAPH=0"));
  EXPECT_THAT(file("export MCORE_CUDA_GRAPH=1 CUDA_GRAPH_SCOPE=attn").ignored,
              ElementsAre("CUDA_GRAPH_SCOPE"));
}

TEST(Mlperf, SurvivesAnyCut) {
  for (const char* const file : {"llama_405b.mlperf", "lora.mlperf"}) {
    TryEveryCut(file, std::string("\0(9$\"\n-=", 8),
                [](const std::string& text) { (void)ReadMlperf(text, true); });
  }
}

}  // namespace
}  // namespace sextant::server
