#include "gpu_probe/cuda/matmul/gpu_matmul_points.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_workload.h"
#include "gpu_probe/points/matmul.h"

namespace sextant::probe {
namespace {

// B's copies together are this many times the cache, so that each comes from memory; but at most a
// share of the memory cap, most of which the operands themselves need.
constexpr int64_t kTouchedCaches = 3;
constexpr int64_t kGpuTouchedShareOfCap = 4;
constexpr int64_t kUnknownCacheBytes = int64_t{64} << 20;

// State that all points of one type share.
struct TypeState {
  GpuMatmulArenaSource arenas;
  SteadyClock clock = {};
  TrialBudget trials = {};
  std::shared_ptr<bool> exact_checked = std::make_shared<bool>(false);
};

// cuBLASLt, already loaded; started when the first workload is made.
struct CublasLtSource {
  CublasLt library;
  SharedSession session;
  SharedCublasLt open = {};

  absl::StatusOr<SharedCublasLt> Get() {
    if (open == nullptr) {
      SEXTANT_ASSIGN_OR_RETURN(open, CublasLtSession::Open(library, session));
    }
    return open;
  }
};

// Properties of a multiplication, known once its workload is made.
struct MadeMatmul {
  std::string kernel;
  std::string best_kernel;  // "" where the library's first choice is the fastest that was tried
  double best_seconds = 0;  // of one run of that kernel
};

struct GpuMatmulToMeasure {
  GpuMatmulProblem problem;
  GpuRotation rotation;
  absl::Status fits;
  std::shared_ptr<TypeState> state;
  std::shared_ptr<CublasLtSource> cublaslt;
  std::shared_ptr<MadeMatmul> made = std::make_shared<MadeMatmul>();
};

// The difference of one point from the grid's.
struct GpuMatmulRole {
  bool first = false;
  v1::MatmulMeasurement::Purpose purpose = v1::MatmulMeasurement::PURPOSE_GRID;
  double sustained_seconds = 0;
  int level = kRestOfGrids;
};

absl::Status CheckMultiple(const GpuMatmulProblem& problem) {
  const int64_t multiple = problem.type->multiple;
  if (problem.n % multiple == 0 && problem.k % multiple == 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("in ", problem.type->label(), " n and k must be multiples of ", multiple));
}

absl::StatusOr<std::unique_ptr<Workload>> Make(const GpuMatmulToMeasure& what) {
  SEXTANT_RETURN_IF_ERROR(what.fits);
  SEXTANT_ASSIGN_OR_RETURN(SharedCublasLt cublaslt, what.cublaslt->Get());
  SEXTANT_ASSIGN_OR_RETURN(std::shared_ptr<GpuMatmulArena> arena, what.state->arenas.Get());
  SEXTANT_ASSIGN_OR_RETURN(auto prepared,
                           GpuMatmul::Prepare(cublaslt, what.problem, arena->scales()));
  const std::shared_ptr<const GpuMatmul> matmul = std::move(prepared);
  const auto workload_of = [&](size_t choice) {
    return std::make_unique<GpuMatmulWorkload>(
        GpuMatmulWorkload::Parts{.cublaslt = cublaslt,
                                 .rotation = what.rotation,
                                 .arena = arena,
                                 .matmul = matmul,
                                 .choice = choice,
                                 .exact_checked = what.state->exact_checked});
  };
  SEXTANT_ASSIGN_OR_RETURN(
      const MatmulTrial trial,
      TryAlgorithms(workload_of, matmul->choice_count(), cublaslt->session(), what.state->trials));
  *what.made = {.kernel = matmul->KernelText(0),
                .best_kernel = trial.choice == 0 ? "" : matmul->KernelText(trial.choice),
                .best_seconds = trial.median_seconds};
  return workload_of(/*choice=*/0);
}

// A multiplication as it is recorded.
v1::MatmulMeasurement RecordOf(const GpuMatmulProblem& problem, const GpuMatmulRole& role,
                               const CublasLt& library) {
  v1::MatmulMeasurement out;
  out.set_data_type(problem.type->data_type);
  out.set_m(problem.m);
  out.set_n(problem.n);
  out.set_k(problem.k);
  out.set_engine(absl::StrCat("cublaslt ", library.version));
  out.set_purpose(role.purpose);
  if (problem.batch_count > 1) out.set_batch_count(problem.batch_count);
  if (problem.layout != v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN) out.set_layout(problem.layout);
  if (problem.type->format == MatrixFormat::kE4m3) {
    out.set_fast_accumulation(problem.fast_accumulation);
  }
  return out;
}

void AddKernels(const MadeMatmul& made, const v1::TimeStatistics& time,
                v1::MatmulMeasurement* out) {
  out->set_kernel(made.kernel);
  // Both are timed alike, but the first choice may turn out to be as fast.
  if (made.best_seconds <= 0 || made.best_seconds >= time.median_seconds()) return;
  out->set_best_flops_per_second(OperationCount(*out) / made.best_seconds);
  out->set_best_kernel(made.best_kernel);
}

int LevelOf(v1::DataType type, const MatmulSize& size) {
  if (!HasGrid(type) || !IsMatmulAnchor(size)) return kRestOfGrids;
  return type == v1::DATA_TYPE_BF16 ? kBf16Anchors : kFp8Anchors;
}

// Makes the points of one plan.
class MatmulPlanner {
 public:
  MatmulPlanner(v1::ProbeMode mode, const SharedSession& session, const CublasLt& library)
      : mode_(mode),
        session_(session),
        cublaslt_(std::make_shared<CublasLtSource>(
            CublasLtSource{.library = library, .session = session})) {}

  void Add(const GpuMatmulProblem& problem, const GpuMatmulRole& role) {
    GpuMatmulToMeasure what;
    what.problem = problem;
    what.rotation = GpuRotationOf(problem, TouchedBytes());
    what.state = StateOf(*problem.type, role);
    what.fits = what.state->arenas.Include(problem, what.rotation);
    what.cublaslt = cublaslt_;
    Point point = MatmulPoint(
        RecordOf(problem, role, cublaslt_->library), role.sustained_seconds,
        [what] { return Make(what); },
        [made = what.made](const v1::TimeStatistics& time, v1::MatmulMeasurement* out) {
          AddKernels(*made, time, out);
        });
    point.first = role.first;
    point.minimum_sample_seconds = kGpuSampleSeconds;
    point.level = role.level;
    if (role.level == kBf16Anchors || role.level == kFp8Anchors) {
      point.fewest_useful = kMinGridPoints;
    }
    points_.push_back(std::move(point));
  }

  void AddType(v1::DataType type) {
    Add(ProblemOf(type, FirstSize()), {.first = true, .level = LevelOf(type, FirstSize())});
    for (const MatmulSize& size : SizesOf(mode_, type)) {
      Add(ProblemOf(type, size), {.level = LevelOf(type, size)});
    }
    const double sustained_seconds = SustainedSeconds(mode_, type);
    if (sustained_seconds == 0) return;
    Add(ProblemOf(type, SustainedSize()),
        {.sustained_seconds = sustained_seconds, .level = kSustainedRates});
  }

  std::vector<Point> Take() { return std::move(points_); }

 private:
  int64_t TouchedBytes() const {
    const int64_t cache_bytes =
        session_->cache_bytes() > 0 ? session_->cache_bytes() : kUnknownCacheBytes;
    return std::min(kTouchedCaches * cache_bytes,
                    session_->memory_cap_bytes() / kGpuTouchedShareOfCap);
  }

  std::shared_ptr<TypeState> StateOf(const GpuMatmulType& type, const GpuMatmulRole& role) {
    const bool other = role.purpose == v1::MatmulMeasurement::PURPOSE_OTHER;
    std::shared_ptr<TypeState>& state = states_[{type.data_type, other}];
    if (state == nullptr) {
      // Requested shapes have extra time.
      const bool requested = role.purpose == v1::MatmulMeasurement::PURPOSE_REQUESTED;
      const v1::ProbeMode mode = requested ? v1::PROBE_MODE_FULL : mode_;
      state.reset(new TypeState{.arenas = GpuMatmulArenaSource(type, session_)});
      state->trials = {.clock = &state->clock, .left_seconds = TrialSeconds(mode)};
    }
    return state;
  }

  const v1::ProbeMode mode_;
  const SharedSession session_;
  const std::shared_ptr<CublasLtSource> cublaslt_;
  // By type, and by true for multiplications that are not points of the grid: they need more
  // memory.
  std::map<std::pair<v1::DataType, bool>, std::shared_ptr<TypeState>> states_;
  std::vector<Point> points_;
};

}  // namespace

std::vector<Point> GpuMatmulPoints(v1::ProbeMode mode, const SharedSession& session,
                                   const CublasLt& library, std::vector<std::string>* notes) {
  MatmulPlanner planner(mode, session, library);
  const auto multiplies = [&](v1::DataType type) {
    return CheckGpuMultiplies(type, session->compute_capability(), library.version);
  };
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    if (!IsMeasuredIn(mode, type.data_type)) continue;
    const absl::Status multiplied = multiplies(type.data_type);
    if (multiplied.ok()) {
      planner.AddType(type.data_type);
    } else {
      notes->emplace_back(multiplied.message());
    }
  }
  for (const GpuMatmulProblem& other : OtherMatmuls(mode)) {
    if (!multiplies(other.type->data_type).ok()) continue;
    planner.Add(other, {.purpose = v1::MatmulMeasurement::PURPOSE_OTHER});
  }
  return planner.Take();
}

absl::StatusOr<std::vector<Point>> GpuRequestedMatmulPoints(
    v1::ProbeMode mode, const std::vector<v1::MatmulShape>& shapes, const SharedSession& session,
    const CublasLt& library) {
  MatmulPlanner planner(mode, session, library);
  for (const v1::MatmulShape& shape : shapes) {
    SEXTANT_RETURN_IF_ERROR(CheckMatmulShape(shape));
    const v1::DataType data_type =
        shape.data_type() == v1::DATA_TYPE_UNSPECIFIED ? v1::DATA_TYPE_BF16 : shape.data_type();
    SEXTANT_RETURN_IF_ERROR(
        CheckGpuMultiplies(data_type, session->compute_capability(), library.version));
    const GpuMatmulProblem problem = ProblemOf(data_type, {shape.m(), shape.n(), shape.k()});
    SEXTANT_RETURN_IF_ERROR(CheckMultiple(problem));
    planner.Add(problem, {.purpose = v1::MatmulMeasurement::PURPOSE_REQUESTED});
  }
  return planner.Take();
}

}  // namespace sextant::probe
