#include "gpu_probe/cuda/attention/gpu_attention_points.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_attention.h"
#include "gpu_probe/cuda/attention/gpu_attention_check.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant::probe {
namespace {

// Memory for the attention of several shapes, one at a time.
struct GpuAttentionArena {
  std::array<DeviceMemory, kAttentionTensorCount> memory;
  GpuAttentionCheck check;

  DeviceMemory& of(AttentionTensor which) { return memory[static_cast<size_t>(which)]; }

  // Creates an arena for one of `shapes` at a time. Queries, keys, values and gradients of outputs
  // are normal numbers, so that scores have a variance of 1.
  //
  // Errors: DeviceMemory::Allocate()'s; GpuSession's.
  static absl::StatusOr<std::shared_ptr<GpuAttentionArena>> Create(
      const std::vector<GpuAttentionShape>& shapes, bool backward, const SharedSession& session);
};

constexpr unsigned char kPoison = 0xFF;  // numbers of these bytes are not finite

void* PointerTo(cuda::Address address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

// One pass of one shape.
class GpuAttentionWorkload : public GpuWorkload {
 public:
  struct Parts {
    GpuAttentionShape shape;
    bool backward = false;
    SharedSession session;
    std::shared_ptr<CudnnSession> cudnn;
    std::shared_ptr<GpuAttentionArena> arena;
  };

  // A backward pass first runs the forward pass, whose outputs and statistics it needs, into memory
  // of its own.
  //
  // Errors: kUnimplemented where cuDNN has no kernel; kResourceExhausted; the session's.
  static absl::StatusOr<std::unique_ptr<Workload>> Create(Parts parts) {
    std::unique_ptr<GpuAttentionWorkload> workload(new GpuAttentionWorkload(std::move(parts)));
    SEXTANT_RETURN_IF_ERROR(workload->Start());
    return workload;
  }

  void Poison() override {
    const AttentionBytes bytes = AttentionBytesOf(parts_.shape, parts_.backward);
    const auto fill = [&](AttentionTensor which) {
      // If this fails, the run that follows fails as well.
      (void)session().Fill(AddressOf(which), kPoison, bytes[static_cast<size_t>(which)]);
    };
    if (parts_.backward) {
      fill(AttentionTensor::kQueryGradients);
      fill(AttentionTensor::kKeyGradients);
      fill(AttentionTensor::kValueGradients);
    } else {
      fill(AttentionTensor::kOutputs);
      fill(AttentionTensor::kStatistics);
    }
  }

  // Compares some tokens with attention by its definition, and checks that all were written.
  absl::Status Check() override {
    AttentionAddresses addresses = {};
    for (size_t i = 0; i < addresses.size(); ++i) {
      addresses[i] = AddressOf(static_cast<AttentionTensor>(i));
    }
    GpuAttentionCheck& check = parts_.arena->check;
    return parts_.backward ? check.Backward(parts_.shape, addresses)
                           : check.Forward(parts_.shape, addresses);
  }

 private:
  explicit GpuAttentionWorkload(Parts parts)
      : GpuWorkload(parts.session, HostPart::kQueues), parts_(std::move(parts)) {}
  absl::Status Enqueue() override { return parts_.cudnn->Execute(plan_, pack_); }

  absl::Status Start() {
    const GpuAttentionShape& shape = parts_.shape;
    numbers_ = {shape.scale(), -std::numeric_limits<float>::infinity(), 1.0F};
    if (parts_.backward) SEXTANT_RETURN_IF_ERROR(RunForward());
    SEXTANT_ASSIGN_OR_RETURN(plan_, parts_.backward ? parts_.cudnn->BackwardPlan(shape)
                                                    : parts_.cudnn->ForwardPlan(shape));
    SEXTANT_ASSIGN_OR_RETURN(pack_, PackOf(plan_, parts_.backward));
    return absl::OkStatus();
  }

  absl::Status RunForward() {
    const AttentionBytes bytes = AttentionBytesOf(parts_.shape, /*backward=*/false);
    const auto allocate = [&](AttentionTensor which) {
      return DeviceMemory::Allocate(shared_session(), bytes[static_cast<size_t>(which)]);
    };
    SEXTANT_ASSIGN_OR_RETURN(outputs_, allocate(AttentionTensor::kOutputs));
    SEXTANT_ASSIGN_OR_RETURN(statistics_, allocate(AttentionTensor::kStatistics));
    SEXTANT_ASSIGN_OR_RETURN(const CudnnPlan forward, parts_.cudnn->ForwardPlan(parts_.shape));
    SEXTANT_ASSIGN_OR_RETURN(const CudnnDescriptor pack, PackOf(forward, /*backward=*/false));
    SEXTANT_RETURN_IF_ERROR(parts_.cudnn->Execute(forward, pack));
    return session().Synchronize();
  }

  absl::StatusOr<CudnnDescriptor> PackOf(const CudnnPlan& plan, bool backward) const {
    const int64_t room_bytes = parts_.arena->of(AttentionTensor::kWorkspace).size_bytes();
    if (plan.workspace_bytes > room_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "needs a workspace of ", plan.workspace_bytes, " bytes, and has ", room_bytes));
    }
    CudnnOperands operands;
    const AttentionBytes bytes = AttentionBytesOf(parts_.shape, backward);
    for (size_t i = 0; i < static_cast<size_t>(AttentionTensor::kWorkspace); ++i) {
      if (bytes[i] == 0) continue;
      const auto which = static_cast<AttentionTensor>(i);
      operands.ids.push_back(IdOf(which));
      operands.pointers.push_back(PointerTo(AddressOf(which)));
    }
    // cuDNN does not write them.
    auto* const numbers = const_cast<float*>(numbers_.data());
    const auto add = [&](AttentionNumber which) {
      operands.ids.push_back(static_cast<int64_t>(which));
      operands.pointers.push_back(
          numbers + (static_cast<int64_t>(which) - static_cast<int64_t>(AttentionNumber::kScale)));
    };
    add(AttentionNumber::kScale);
    if (parts_.shape.causal) add(AttentionNumber::kMasked);
    if (backward) add(AttentionNumber::kKept);
    return parts_.cudnn->Pack(operands, PointerTo(AddressOf(AttentionTensor::kWorkspace)));
  }

  cuda::Address AddressOf(AttentionTensor which) const {
    if (parts_.backward && which == AttentionTensor::kOutputs) return outputs_.address();
    if (parts_.backward && which == AttentionTensor::kStatistics) return statistics_.address();
    return parts_.arena->of(which).address();
  }

  const Parts parts_;
  DeviceMemory outputs_;  // of a backward pass
  DeviceMemory statistics_;
  // The numbers passed from the host to the graph, in the order of AttentionNumber.
  std::array<float, 3> numbers_ = {};
  CudnnPlan plan_;
  CudnnDescriptor pack_;
};

constexpr int64_t kFillBlocksPerMultiprocessor = 8;

AttentionBytes MostBytes(const std::vector<GpuAttentionShape>& shapes, bool backward) {
  AttentionBytes most = {};
  for (const GpuAttentionShape& shape : shapes) {
    const AttentionBytes bytes = AttentionBytesOf(shape, backward);
    for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], bytes[i]);
  }
  return most;
}

// Each tensor gets different numbers.
absl::Status FillNormal(const DeviceMemory& memory, uint64_t seed, GpuSession& session) {
  const auto count = static_cast<unsigned long long>(memory.size_bytes() / 2);
  const auto blocks =
      static_cast<unsigned>(session.multiprocessor_count() * kFillBlocksPerMultiprocessor);
  return session.Launch("fill_normal_bf16", {.block_count = blocks}, memory.address(), count,
                        static_cast<unsigned long long>(seed << 40));
}

absl::StatusOr<std::shared_ptr<GpuAttentionArena>> GpuAttentionArena::Create(
    const std::vector<GpuAttentionShape>& shapes, bool backward, const SharedSession& session) {
  const AttentionBytes bytes = MostBytes(shapes, backward);
  std::array<DeviceMemory, kAttentionTensorCount> memory;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (bytes[i] == 0) continue;
    SEXTANT_ASSIGN_OR_RETURN(memory[i], DeviceMemory::Allocate(session, bytes[i]));
  }
  for (const AttentionTensor which :
       {AttentionTensor::kQueries, AttentionTensor::kKeys, AttentionTensor::kValues,
        AttentionTensor::kOutputGradients}) {
    const DeviceMemory& tensor = memory[static_cast<size_t>(which)];
    if (tensor.size_bytes() == 0) continue;
    SEXTANT_RETURN_IF_ERROR(FillNormal(tensor, static_cast<uint64_t>(which) + 1, *session));
  }
  SEXTANT_ASSIGN_OR_RETURN(GpuAttentionCheck check,
                           GpuAttentionCheck::Create(shapes, backward, session));
  return std::make_shared<GpuAttentionArena>(
      GpuAttentionArena{.memory = std::move(memory), .check = std::move(check)});
}

// The first cuDNN 9 known to do everything used here correctly: backward passes of 9.10.0 and
// 9.10.1 have known faults, for which cudnn-frontend refuses them, and before 9.10 a mask had to be
// the lowest number and not minus infinity (attn_score_modifiers.h there).
constexpr std::size_t kMinCudnn = 91002;

// The least number of shapes for a model of attention's times
// (engine/hardware/kernels/attention_model.h).
constexpr int kMinAttentionPoints = 8;

// State that the points of one GPU share.
struct AttentionSource {
  explicit AttentionSource(const SharedSession& its_session)
      : session(its_session), arenas{Arena(/*backward=*/false), Arena(/*backward=*/true)} {}

  SharedData<GpuAttentionArena> Arena(bool backward) {
    return SharedData<GpuAttentionArena>([this, backward] {
      return GpuAttentionArena::Create(shapes[backward ? 1 : 0], backward, session);
    });
  }

  const SharedSession session;
  SharedCudnn library = {};
  std::shared_ptr<CudnnSession> cudnn = {};  // once there is a point; it keeps compiled kernels
  // For forward and for backward passes: the shapes that fit, and memory for one of them at a time.
  std::array<std::vector<GpuAttentionShape>, 2> shapes = {};
  std::array<SharedData<GpuAttentionArena>, 2> arenas;
};

// True where the memory cap has room for `shape`, and as much again for checks and for outputs of
// other backward passes.
bool Fits(const GpuAttentionShape& shape, bool backward, const GpuSession& session) {
  int64_t bytes = 0;
  for (const int64_t tensor_bytes : AttentionBytesOf(shape, backward)) bytes += tensor_bytes;
  return bytes <= session.memory_cap_bytes() / 2;
}

absl::StatusOr<std::unique_ptr<Workload>> MakeAttention(const GpuAttentionShape& shape,
                                                        bool backward, AttentionSource* source) {
  if (!Fits(shape, backward, *source->session)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs more than half of the ", source->session->memory_cap_bytes(),
                     " bytes of the GPU's memory that the probe may take"));
  }
  if (source->cudnn == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(source->cudnn, CudnnSession::Open(source->library, source->session));
  }
  SEXTANT_ASSIGN_OR_RETURN(auto arena, source->arenas[backward ? 1 : 0].Get());
  return GpuAttentionWorkload::Create({.shape = shape,
                                       .backward = backward,
                                       .session = source->session,
                                       .cudnn = source->cudnn,
                                       .arena = std::move(arena)});
}

void RecordAttention(const GpuAttentionShape& shape, bool backward, const std::string& engine,
                     const v1::TimeStatistics& time, v1::Calibration* out) {
  v1::AttentionMeasurement* const measured = out->add_attentions();
  measured->set_data_type(v1::DATA_TYPE_BF16);
  measured->set_training_pass(backward ? v1::AttentionMeasurement::PASS_BACKWARD
                                       : v1::AttentionMeasurement::PASS_FORWARD);
  measured->set_batch(shape.batch);
  measured->set_sequence_length(shape.sequence);
  measured->set_heads(shape.heads);
  measured->set_kv_heads(shape.kv_heads);
  measured->set_head_size(shape.head_size);
  measured->set_value_head_size(shape.value_head_size);
  measured->set_causal(shape.causal);
  *measured->mutable_time() = time;
  measured->set_flops_per_second((backward ? shape.BackwardFlops() : shape.ForwardFlops()) /
                                 time.median_seconds());
  measured->set_engine(engine);
}

// The kind of a shape: shapes of one kind share a kernel, and a model of its times.
std::string KindOf(const GpuAttentionShape& shape) {
  return absl::StrCat(shape.head_size, shape.causal ? " causal" : " full");
}

Point PointOf(const GpuAttentionShape& shape, bool backward,
              const std::shared_ptr<AttentionSource>& source) {
  const std::string engine = absl::StrCat("cudnn ", source->library->version);
  Point point;
  const std::string pass = backward ? "attention backward" : "attention forward";
  point.phase = absl::StrCat(pass, " ", KindOf(shape));
  point.label = absl::StrCat(pass, " ", shape.Text());
  point.work = backward ? shape.BackwardFlops() : shape.ForwardFlops();
  point.unit = "FLOP/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.level = kAttention;
  point.fewest_useful = kMinAttentionPoints;
  point.useless_alone = true;
  point.assumed_preparation_seconds = backward ? kAssumedCompileSeconds : 0;
  point.make = [=] { return MakeAttention(shape, backward, source.get()); };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    RecordAttention(shape, backward, engine, time, out);
  };
  return point;
}

}  // namespace

std::vector<Point> GpuAttentionPoints(v1::ProbeMode mode, const SharedSession& session,
                                      const absl::StatusOr<Cudnn>& cudnn,
                                      std::vector<std::string>* notes) {
  const std::vector<GpuAttentionShape> forward_shapes = ForwardAttentionShapes(mode);
  const std::vector<GpuAttentionShape> backward_shapes = BackwardAttentionShapes(mode);
  if (forward_shapes.empty() && backward_shapes.empty()) return {};
  if (!cudnn.ok()) {
    notes->push_back(absl::StrCat("attention is not measured: cuDNN could not be loaded (",
                                  cudnn.status().message(), ")"));
    return {};
  }
  if (cudnn->version_number < kMinCudnn) {
    notes->push_back(
        absl::StrCat("attention is not measured: cuDNN ", cudnn->version, " is older than 9.10.2"));
    return {};
  }
  const auto source = std::make_shared<AttentionSource>(session);
  source->library = std::make_shared<const Cudnn>(*cudnn);
  std::vector<Point> points;
  std::set<std::string> compiled;  // kinds: the first shape of each compiles the kernel of all
  for (const bool backward : {false, true}) {
    for (const GpuAttentionShape& shape : backward ? backward_shapes : forward_shapes) {
      if (Fits(shape, backward, *session)) source->shapes[backward ? 1 : 0].push_back(shape);
      points.push_back(PointOf(shape, backward, source));
      if (!backward && compiled.insert(KindOf(shape)).second) {
        points.back().assumed_preparation_seconds = kAssumedFirstCompileSeconds;
      }
    }
  }
  return points;
}

}  // namespace sextant::probe
