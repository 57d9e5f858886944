// The work of one GPU of a pipeline stage for one micro-batch and for one step, operation by
// operation, and its time. Exchanges between GPUs are listed, not timed.
#ifndef SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_
#define SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/trace/trace.h"
#include "engine/time/operation_pricer.h"

namespace sextant {

// An operation of a stage, in all layers that are alike.
struct TimedOperation {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;  // index into ArchitectureSpec::layer_kinds; -1: outside the layers
  int64_t layers = 1;   // that run it
  TraceOp op;           // of one layer
  // The sum of all launches in all layers, for one micro-batch (of a step operation: for one step).
  // Of a collective 0, or its time alone, which no sum includes.
  KernelTime time;
  size_t source = 0;  // index into OperationPricer::sources(); of no use for collectives
};

// The work of the host that starts a stage's kernels one by one.
struct HostWork {
  int64_t launches = 0;          // of one micro-batch; 0 with captured graphs
  SecondsInterval seconds = {};  // launches x HostCosts
  // True where the host takes longer than the device: the queue of started kernels runs empty, and
  // a micro-batch takes the host's time.
  bool bound = false;
};

// Pipeline stages that compute the same.
struct StageCompute {
  int64_t first_stage = 0;
  int64_t stage_count = 1;
  std::vector<TimedOperation> operations = {};       // of one micro-batch, in their order
  std::vector<TimedOperation> step_operations = {};  // once a step: norm, clip and optimizer
  SecondsInterval forward = {};
  SecondsInterval backward = {};  // with what it recomputes
  SecondsInterval micro_batch = {};
  SecondsInterval step = {};  // of step_operations
  HostWork host = {};
  double flops = 0;  // of a micro-batch's products on one GPU, recomputation included
};

// Time of the host to start one kernel of an eager framework: Python, dispatch, autograd, driver.
// 2 us of an addition without and 7 us of a multiplication with autograd (pytorch/pytorch issue
// 41383), 8 us of an addition on an A100's host (flagos-ai/Torch-FL pull request 27); modules
// around kernels take more.
struct HostCosts {
  static constexpr double kLaunchSeconds = 8e-6;
  static constexpr double kLowLaunchSeconds = 2e-6;
  static constexpr double kHighLaunchSeconds = 25e-6;
};

// Bytes that a product's epilogue moves to add `elements` gradients of `computed` bytes to `kept`
// ones, beyond those it would write, without those that its arithmetic hides:
//   (1 - 0.4 work_share) (2 kept - computed)
// Source: 204 published weight gradients that add into fp32 take as much longer than the products
// of their forward pass and input gradient as 0.49 (A100) and 0.66 (B200) of those bytes, in the
// median (docs/step_time.md); what is bound by memory hides nothing.
struct Accumulation {
  double elements = 0;
  double computed = 0;
  double kept = 0;
  double work_share = 0;  // OperationPricer::WorkShareOf() of the product
};
PassWork FusedAccumulation(const Accumulation& of);

struct ComputeInput {
  const ArchitectureSpec& spec;
  const MemoryModel& model;  // of `spec`, whose activations were counted
  PricedTypes types = {};
  bool fused_projections = true;
  bool captured_graphs = false;
};

// The compute of one stage, whose times are `pricer`'s.
StageCompute ComputeOf(const ComputeInput& in, const OperationPricer& pricer, int64_t stage);

// Visits the compute of all stages in their order, of those that are alike once.
//
// Errors: those of `work` and of `visit`.
using ComputeVisitor = absl::FunctionRef<absl::Status(StageCompute compute)>;
absl::Status ForEachStageCompute(const ComputeInput& in, const OperationPricer& pricer,
                                 CallWork& work, ComputeVisitor visit);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STAGE_COMPUTE_H_
