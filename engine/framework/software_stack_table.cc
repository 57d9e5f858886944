#include <cstddef>

#include "absl/strings/string_view.h"
#include "engine/framework/software_stack.h"

namespace sextant {
namespace {

using Constant = StackConstant;

constexpr char kFitted[] =
    "round values near the median of the stack's published runs: docs/accuracy_step_time.md";
constexpr char kNoOverlap[] =
    "NVIDIA/Megatron-LM, megatron/training/arguments.py @d98e8a64: "
    "tensor parallel overlap is off by default";
constexpr char kNoExpertOverlap[] =
    "NVIDIA/Megatron-LM, megatron/training/arguments.py: overlap_moe_expert_parallel_comm is off "
    "by default";
// Both overlaps are switched off where their need is not met; a bucket's gradients and weights are
// overlapped alike.
constexpr char kBridgeOverlaps[] =
    "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/comm_overlap.py @067f987d";
constexpr char kGradientOverlap[] =
    "NVIDIA/Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py @d98e8a64: a bucket is "
    "reduced while the next one's gradients are computed";
constexpr char kPartitions[] =
    "deepspeedai/DeepSpeed, deepspeed/runtime/engine.py @edaa7221, allreduce_gradients(): stage 0 "
    "sums after the last backward pass; of others overlap_comm hides what follows the hooks of "
    "gradients";
constexpr char kBlocking[] =
    "NVIDIA/Megatron-LM v2.6, megatron/training.py: gradients are summed after the last backward "
    "pass";
constexpr char kDeepEp[] =
    "deepseek-ai/DeepEP, README: a token is sent once to each node, and forwarded over NVLink";
constexpr char kSends[] =
    "NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py @d98e8a64: interleaved "
    "stages "
    "overlap sends (overlap_p2p_comm), others wait for them";
constexpr char kContends[] =
    "exchanges and products share memory and multiprocessors; round value near the median of "
    "published FSDP runs: docs/accuracy_step_time.md";
constexpr char kJitter[] =
    "weak scaling of published runs, 64 to 2,048 devices: docs/accuracy_step_time.md";

// 204 published weight gradients that add into fp32 take as much longer than the products of their
// forward pass and input gradient as 0.49 (A100) and 0.66 (B200) of those bytes, in the median.
constexpr char kAdditions[] =
    "weight gradients that SimuMax publishes: docs/step_time.md, \"Operators of training steps\"";
constexpr char kFusedOptimizer[] =
    "NVIDIA/Megatron-LM, megatron/core/optimizer/__init__.py @d98e8a64: fused Adam of Transformer "
    "Engine or apex";
// 2 us of an addition without and 7 us of a multiplication with autograd, 8 us of an addition on an
// A100's host; modules around kernels take more.
constexpr double kLaunchSeconds = 8e-6;
constexpr char kLaunches[] = "pytorch/pytorch issue 41383; flagos-ai/Torch-FL pull request 27";
constexpr char kScatters[] =
    "NVIDIA/Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py @d98e8a64: "
    "reduce-scatter with a distributed optimizer";

constexpr StackValue Same(double value, absl::string_view source,
                          OverlapNeed needs = OverlapNeed::kNothing) {
  return {value, value, value, source, needs};
}

// Hosts that start kernels of experts one by one, and those that start attention and the router as
// graphs: published runs of Megatron-Bridge.
constexpr double kEagerExpertSeconds = 9.2e-3;
constexpr double kGraphedExpertSeconds = 4.8e-3;
constexpr char kGraphs[] =
    "round values near the median of published runs: docs/accuracy_step_time.md; on Blackwell with "
    "graphs of attention and the router, as most of NVIDIA-NeMo/Megatron-Bridge's recipes for it "
    "(scripts/performance/configs)";

class StackWriter {
 public:
  constexpr StackWriter(absl::string_view name, absl::string_view title) {
    out_.name = name;
    out_.title = title;
  }
  // The same constants under another name.
  constexpr StackWriter(SoftwareStack as, absl::string_view name, absl::string_view title)
      : out_(as) {
    out_.name = name;
    out_.title = title;
    out_.generic = false;
  }
  constexpr StackWriter& Set(Constant constant, StackValue value) {
    out_.values[static_cast<size_t>(constant)] = value;
    return *this;
  }
  constexpr StackWriter& Set(Constant constant, double value, absl::string_view source = kFitted,
                             OverlapNeed needs = OverlapNeed::kNothing) {
    return Set(constant, Same(value, source, needs));
  }
  constexpr StackWriter& Experts(double wide, double narrow) {
    Set(Constant::kExpertTimeRatio, wide);
    out_.narrow_expert_time_ratio = Same(narrow, kFitted);
    return *this;
  }
  constexpr StackWriter& Generic() {
    out_.generic = true;
    return *this;
  }
  constexpr SoftwareStack Done() const { return out_; }

 private:
  SoftwareStack out_ = {};
};

// Megatron-LM with sequence parallelism and fused kernels; all other stacks are changes to it.
constexpr SoftwareStack Generic() {
  return StackWriter("generic", "a stack that is not known: as Megatron-LM")
      .Set(Constant::kAttentionTimeRatio, {1.0, 1.45, 1.25, kFitted})
      .Set(Constant::kMemoryPassTimeRatio, 0.95)
      .Set(Constant::kTensorExchangeExposure, 1.0, kNoOverlap)
      .Set(Constant::kDataExchangeOverlap, 0.9, kGradientOverlap)
      .Set(Constant::kOverlapContention, 0.55, kContends)
      .Set(Constant::kGrowthPerDoubling, 0.004, kJitter)
      .Set(Constant::kNarrowProductTimeRatio, 1.0)
      .Set(Constant::kExpertLayerHostSeconds, kEagerExpertSeconds)
      .Set(Constant::kOneCopyPerNode, 0, "NVIDIA/Megatron-LM: moe_token_dispatcher_type alltoall")
      .Set(Constant::kPipelineExchangeExposure, 0.3, kSends)
      .Set(Constant::kExpertExchangeExposure, 1.0, kNoExpertOverlap)
      .Set(Constant::kGradientAdditionOverlap, 0.4, kAdditions)
      .Set(Constant::kOptimizerTimeRatio, 1.0, kFusedOptimizer)
      .Set(Constant::kKernelLaunchSeconds, kLaunchSeconds, kLaunches)
      .Set(Constant::kAllReducesGradients, 0, kScatters)
      .Experts(1.3, 1.4)
      .Generic()
      .Done();
}

constexpr SoftwareStack MegatronLmStack() {
  return StackWriter(Generic(), "megatron_lm", "Megatron-LM").Done();
}

constexpr SoftwareStack MegatronLm2022() {
  return StackWriter(Generic(), "megatron_lm_2022", "Megatron-LM of 2020 to 2022")
      .Set(Constant::kTensorExchangeExposure, 1.1)
      .Set(Constant::kDataExchangeOverlap, 0, kBlocking)
      .Set(Constant::kPipelineExchangeExposure, 1, "NVIDIA/Megatron-LM v2.6, megatron/schedules.py")
      .Done();
}

constexpr SoftwareStack MegatronBridgeStack() {
  return StackWriter(Generic(), "megatron_bridge", "Megatron-Bridge, and NeMo before it")
      .Set(Constant::kTensorExchangeExposure, 0.55, kBridgeOverlaps, OverlapNeed::kSequenceParallel)
      .Set(Constant::kDataExchangeOverlap, 0.9, kBridgeOverlaps, OverlapNeed::kDistributedOptimizer)
      .Experts(1.25, 1.4)
      .Set(Constant::kExpertLayerHostSeconds,
           {kEagerExpertSeconds, kEagerExpertSeconds, kGraphedExpertSeconds, kGraphs})
      .Set(Constant::kOneCopyPerNode, 1, kDeepEp)
      .Done();
}

constexpr SoftwareStack MegaScale() {
  return StackWriter(Generic(), "megascale", "MegaScale (ByteDance)")
      .Set(Constant::kTensorExchangeExposure, 0.5,
           "Jiang et al. 2024 (arXiv 2402.15627) section 3.2: fuses the all-gathers and "
           "reduce-scatters of tensor and sequence parallelism with products",
           OverlapNeed::kSequenceParallel)
      .Done();
}

constexpr SoftwareStack MegatronDeepSpeed() {
  return StackWriter(Generic(), "megatron_deepspeed", "Megatron-DeepSpeed of 2021 and 2022")
      .Set(Constant::kMemoryPassTimeRatio, 1.8)
      .Set(Constant::kTensorExchangeExposure, 1.1)
      .Set(Constant::kDataExchangeOverlap, 0, kBlocking)
      .Set(Constant::kHostSecondsPerLayer, 9e-3)
      .Set(Constant::kAllReducesGradients, 1,
           "bigscience-workshop/Megatron-DeepSpeed: the pipeline engine sums gradients on "
           "all ranks, then the ZeRO optimizer gathers weights")
      .Done();
}

constexpr SoftwareStack DeepSpeedStack() {
  return StackWriter(Generic(), "deepspeed", "DeepSpeed")
      .Set(Constant::kMemoryPassTimeRatio, 1.3)
      .Set(Constant::kAttentionTimeRatio, {1.0, 2.1, 3.0, kFitted})
      .Set(Constant::kDataExchangeOverlap, 0.9, kPartitions, OverlapNeed::kDistributedOptimizer)
      .Done();
}

constexpr SoftwareStack InternEvo() {
  return StackWriter(Generic(), "internevo", "InternEvo of 2023")
      .Set(Constant::kMemoryPassTimeRatio, 2.2)
      .Set(Constant::kDataExchangeOverlap, 0)
      .Set(Constant::kBroadcastSecondsPerRank, 2.7e-3)
      .Done();
}

// Eager PyTorch: a kernel for each operation of a norm, an activation function or a residual.
constexpr SoftwareStack PytorchFsdpStack() {
  return StackWriter(Generic(), "pytorch_fsdp", "PyTorch FSDP, eager")
      .Set(Constant::kAttentionTimeRatio, {1.0, 2.1, 3.0, kFitted})
      .Set(Constant::kMemoryPassTimeRatio, 2.0)
      .Done();
}

constexpr SoftwareStack LlmFoundryStack() {
  return StackWriter(PytorchFsdpStack(), "llm_foundry", "llm-foundry of 2023 and 2024, eager")
      .Set(Constant::kAttentionTimeRatio, {1.65, 2.8, 2.8, kFitted})
      .Set(Constant::kMemoryPassTimeRatio, 2.2)
      .Set(Constant::kGrowthPerDoubling, 0.009, kJitter)
      .Done();
}

constexpr SoftwareStack TorchtitanStack() {
  return StackWriter(PytorchFsdpStack(), "torchtitan", "torchtitan, FSDP2, compiled")
      .Set(Constant::kMemoryPassTimeRatio, 1.7)
      .Experts(1.5, 1.7)
      .Done();
}

constexpr SoftwareStack FmsFsdp() {
  return StackWriter(TorchtitanStack(), "fms_fsdp", "fms-fsdp, FSDP1, compiled").Done();
}

constexpr SoftwareStack MaxText() {
  return StackWriter(Generic(), "maxtext", "MaxText (JAX)")
      .Set(Constant::kAttentionTimeRatio, {1.2, 0.9, 0.9, kFitted})
      .Set(Constant::kMemoryPassTimeRatio, 1.4)
      .Done();
}

constexpr SoftwareStack Pax() { return StackWriter(MaxText(), "pax", "Pax (JAX)").Done(); }

constexpr SoftwareStack PytorchDdpStack() {
  return StackWriter(PytorchFsdpStack(), "pytorch_ddp", "PyTorch DistributedDataParallel, eager")
      .Done();
}

constexpr SoftwareStack DeepSpeedZero3() {
  return StackWriter(DeepSpeedStack(), "deepspeed_zero3_2021", "DeepSpeed ZeRO-3 of 2021")
      .Set(Constant::kMemoryPassTimeRatio, 1.5)
      .Done();
}

// Exchanges among experts run under the other direction's products, on 20 of a GPU's 132
// multiprocessors: only DualPipe pairs a forward with a backward pass. What the products lose by
// that is not in any constant.
constexpr SoftwareStack DeepSeek() {
  return StackWriter(Generic(), "deepseek", "DeepSeek's own (HAI-LLM), DualPipe")
      .Set(Constant::kExpertExchangeExposure, 0,
           "DeepSeek-AI 2024 (arXiv 2412.19437) section 3.2.1: DualPipe hides the exchange",
           OverlapNeed::kDualPipe)
      .Set(Constant::kOneCopyPerNode, 1, kDeepEp)
      .Done();
}

constexpr SoftwareStack kStacks[] = {Generic(),          MegatronLmStack(),
                                     MegatronLm2022(),   MegatronBridgeStack(),
                                     MegaScale(),        MegatronDeepSpeed(),
                                     DeepSpeedStack(),   InternEvo(),
                                     PytorchFsdpStack(), LlmFoundryStack(),
                                     TorchtitanStack(),  FmsFsdp(),
                                     MaxText(),          Pax(),
                                     PytorchDdpStack(),  DeepSpeedZero3(),
                                     DeepSeek()};

constexpr PublishedStack kPublished[] = {
    {.model = "deepseek-v3",
     .accelerator = "h800-sxm",
     .stack = "deepseek",
     .with = "layout.schedule = PIPELINE_SCHEDULE_DUALPIPE",
     .source = "arXiv 2412.19437 section 3.2"},
    {.model = "bloom-176b",
     .accelerator = "a100-sxm-80",
     .stack = "megatron_deepspeed",
     .source = "bigscience-workshop/bigscience, train/tr11-176B-ml/README.md @9e64edec"},
};

}  // namespace

absl::Span<const SoftwareStack> SoftwareStacks() { return kStacks; }

const PublishedStack* PublishedStackOf(absl::string_view model, absl::string_view accelerator) {
  for (const PublishedStack& each : kPublished) {
    if (each.model == model && each.accelerator == accelerator) return &each;
  }
  return nullptr;
}

}  // namespace sextant
