#include "gpu_probe/cuda/attention/gpu_attention_points.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_session.h"
#include "gpu_probe/cuda/attention/gpu_attention_arena.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/attention/gpu_attention_workload.h"
#include "gpu_probe/cuda/gpu_levels.h"

namespace sextant {
namespace {

// The first of cuDNN 9 that is known to do all that is used here right: backward passes of 9.10.0
// and 9.10.1 have known faults, for which cudnn-frontend refuses them, and before 9.10 a mask had
// to be the lowest number and not minus infinity (attn_score_modifiers.h there).
constexpr std::size_t kLeastCudnn = 91002;

// How many shapes a model of attention's times needs (engine/hardware/kernels/attention_model.h).
constexpr int kFewestAttentionPoints = 8;

// What points of one GPU share.
struct AttentionSource {
  SharedSession session;
  SharedCudnn library;
  std::shared_ptr<CudnnSession> cudnn = {};  // once there is a point; it keeps compiled kernels
  std::vector<GpuAttentionShape> forward_shapes = {};
  std::vector<GpuAttentionShape> backward_shapes = {};
  std::weak_ptr<GpuAttentionArena> forward_arena = {};
  std::weak_ptr<GpuAttentionArena> backward_arena = {};
};

// Whether the probe may take what `shape` needs, and as much again for checks and for outputs of
// other backward passes.
bool Fits(const GpuAttentionShape& shape, bool backward, const GpuSession& session) {
  int64_t bytes = 0;
  for (const int64_t tensor_bytes : AttentionBytesOf(shape, backward)) bytes += tensor_bytes;
  return bytes <= session.memory_cap_bytes() / 2;
}

absl::StatusOr<std::shared_ptr<CudnnSession>> CudnnOf(AttentionSource* source) {
  if (source->cudnn == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(source->cudnn, CudnnSession::Open(source->library, source->session));
  }
  return source->cudnn;
}

absl::StatusOr<std::shared_ptr<GpuAttentionArena>> ArenaOf(bool backward, AttentionSource* source) {
  std::weak_ptr<GpuAttentionArena>& known =
      backward ? source->backward_arena : source->forward_arena;
  std::shared_ptr<GpuAttentionArena> arena = known.lock();
  if (arena == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(arena, GpuAttentionArena::Create(
                                        backward ? source->backward_shapes : source->forward_shapes,
                                        backward, source->session));
    known = arena;
  }
  return arena;
}

absl::StatusOr<std::unique_ptr<Workload>> MakeAttention(const GpuAttentionShape& shape,
                                                        bool backward, AttentionSource* source) {
  if (!Fits(shape, backward, *source->session)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs more than half of the ", source->session->memory_cap_bytes(),
                     " bytes of the GPU's memory that the probe may take"));
  }
  SEXTANT_ASSIGN_OR_RETURN(auto cudnn, CudnnOf(source));
  SEXTANT_ASSIGN_OR_RETURN(auto arena, ArenaOf(backward, source));
  return GpuAttentionWorkload::Create({.shape = shape,
                                       .backward = backward,
                                       .session = source->session,
                                       .cudnn = std::move(cudnn),
                                       .arena = std::move(arena)});
}

void RecordAttention(const GpuAttentionShape& shape, bool backward, const std::string& engine,
                     const v1::TimeStatistics& time, v1::Calibration* out) {
  v1::AttentionMeasurement* const measured = out->add_attentions();
  measured->set_data_type(v1::DATA_TYPE_BF16);
  measured->set_pass(backward ? v1::AttentionMeasurement::PASS_BACKWARD
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

// Shapes of one kind share a kernel, and a model of its times.
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
  point.fewest_useful = kFewestAttentionPoints;
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
  const std::vector<GpuAttentionShape> forward = ForwardAttentionShapes(mode);
  const std::vector<GpuAttentionShape> backward = BackwardAttentionShapes(mode);
  if (forward.empty() && backward.empty()) return {};
  if (!cudnn.ok()) {
    notes->push_back(absl::StrCat("attention is not measured: cuDNN could not be loaded (",
                                  cudnn.status().message(), ")"));
    return {};
  }
  if (cudnn->version_number < kLeastCudnn) {
    notes->push_back(
        absl::StrCat("attention is not measured: cuDNN ", cudnn->version, " is older than 9.10.2"));
    return {};
  }
  const auto source = std::make_shared<AttentionSource>();
  source->session = session;
  source->library = std::make_shared<const Cudnn>(*cudnn);
  std::vector<Point> points;
  std::set<std::string> compiled;  // kinds: the first of each compiles the kernel of all
  for (const GpuAttentionShape& shape : forward) {
    if (Fits(shape, /*backward=*/false, *session)) source->forward_shapes.push_back(shape);
    points.push_back(PointOf(shape, /*backward=*/false, source));
    if (compiled.insert(KindOf(shape)).second) {
      points.back().assumed_preparation_seconds = kAssumedFirstCompileSeconds;
    }
  }
  for (const GpuAttentionShape& shape : backward) {
    if (Fits(shape, /*backward=*/true, *session)) source->backward_shapes.push_back(shape);
    points.push_back(PointOf(shape, /*backward=*/true, source));
  }
  return points;
}

}  // namespace sextant
