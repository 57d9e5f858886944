#include "gpu_probe/cuda/matmul/gpu_matmul_workload.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_check.h"
#include "gpu_probe/statistics.h"

namespace sextant::probe {
namespace {

// The largest alignment that the library's algorithms need; rows of 16-byte accesses need less.
constexpr int64_t kGpuAlignment = 256;

// Room, next to the arena, for a check's report and for rounding up.
constexpr int64_t kSpareBytes = int64_t{1} << 20;

// Small enough to multiply again by a plain kernel. Sums of that many products of numbers up to 4
// have at most 13 bits, which every tensor core keeps.
constexpr int64_t kExactRows = 512;
constexpr int64_t kExactSums = 1024;

// B's numbers start at another place than A's.
constexpr uint64_t kSeedOfB = uint64_t{1} << 40;

// Scales: 2^-1 to 2^1; for e4m3 those from 0.5 to 2 less 1/8, 16 of them.
constexpr int kLowestE8m0 = 126;
constexpr int kE8m0Kinds = 3;
constexpr int kLowestE4m3 = 0x30;
constexpr int kE4m3Kinds = 16;

int64_t GpuRoundedUp(int64_t bytes) {
  return (bytes + kGpuAlignment - 1) / kGpuAlignment * kGpuAlignment;
}

int64_t ElementBytes(const GpuMatmulProblem& problem, int64_t count) {
  return CeilDivide(problem.batch_count * count * problem.type->element_bits, 8);
}

LaunchShape WideLaunch(const GpuSession& session) {
  return {.block_count = static_cast<unsigned>(session.multiprocessor_count() * 8)};
}

absl::Status FillScales(const GpuMatmulType& type, const DeviceMemory& to, uint64_t seed,
                        GpuSession& session) {
  if (type.scaled_matrices) {
    const float scale = ScaleOfMatrix(type);
    return session.CopyToDevice(to.address(), &scale, sizeof(scale));
  }
  const bool e4m3 = type.scale_block == 16;
  return session.Launch("fill_scales", WideLaunch(session), to.address(),
                        static_cast<uint64_t>(to.size_bytes()), seed,
                        e4m3 ? kLowestE4m3 : kLowestE8m0, e4m3 ? kE4m3Kinds : kE8m0Kinds);
}

// The poison for every byte of C: NaN for the floating types, and for INT8 a sum below all possible
// ones.
constexpr unsigned char kGpuNanByte = 0xFF;
constexpr unsigned char kGpuLowByte = 0x80;

constexpr size_t kTriedChoiceCount = 4;
constexpr int kBestSampleCount = 5;
constexpr double kMaxTrialRuns = 1000;

// Smaller differences are noise.
constexpr double kWorthChoosing = 1.02;

// Seconds of one run, from a sample as long as a point's.
absl::StatusOr<double> TimeSample(GpuMatmulWorkload& workload, double run_seconds) {
  const auto runs = static_cast<int64_t>(
      std::clamp(std::ceil(kGpuSampleSeconds / run_seconds), 1.0, kMaxTrialRuns));
  SEXTANT_RETURN_IF_ERROR(workload.Run(runs));
  return *workload.DeviceSeconds() / static_cast<double>(runs);
}

// TimeSample() for a workload that never ran: the first run loads its kernel.
absl::StatusOr<double> TimeNew(GpuMatmulWorkload& workload) {
  SEXTANT_RETURN_IF_ERROR(workload.Run(1));
  SEXTANT_RETURN_IF_ERROR(workload.Run(1));
  const double once_seconds = *workload.DeviceSeconds();
  if (once_seconds <= 0) return once_seconds;
  SEXTANT_RETURN_IF_ERROR(TimeSample(workload, once_seconds).status());  // makes recordings
  return TimeSample(workload, once_seconds);
}

absl::StatusOr<double> MedianSeconds(GpuMatmulWorkload& workload, double run_seconds) {
  workload.Poison();
  std::vector<double> samples;
  for (int i = 0; i < kBestSampleCount; ++i) {
    SEXTANT_ASSIGN_OR_RETURN(const double seconds, TimeSample(workload, run_seconds));
    samples.push_back(seconds);
  }
  SEXTANT_RETURN_IF_ERROR(workload.Check());
  return Median(samples);
}

}  // namespace

GpuRotation GpuRotationOf(const GpuMatmulProblem& problem, int64_t touched_bytes) {
  GpuRotation out;
  out.stride_bytes = GpuRoundedUp(ElementBytes(problem, problem.n * problem.k));
  out.count = std::max<int64_t>(CeilDivide(touched_bytes, out.stride_bytes), 1);
  return out;
}

GpuMatmulBytes GpuBytesOf(const GpuMatmulProblem& problem, const GpuRotation& rotation) {
  const GpuMatmulType& type = *problem.type;
  const int64_t scale_bytes = type.scaled_matrices ? static_cast<int64_t>(sizeof(float)) : 0;
  return {
      .a = GpuRoundedUp(ElementBytes(problem, problem.m * problem.k)),
      .b = rotation.count * rotation.stride_bytes,
      .c = GpuRoundedUp(problem.output_bytes()),
      .a_scales = GpuRoundedUp(scale_bytes + ScaleBytesOf(type, problem.m, problem.k)),
      .b_scales = GpuRoundedUp(scale_bytes + ScaleBytesOf(type, problem.n, problem.k)),
      .scratch = GpuRoundedUp(CheckScratchBytesOf(problem)),
  };
}

GpuMatmulBytes GpuMaximumOf(const GpuMatmulBytes& x, const GpuMatmulBytes& y) {
  return {.a = std::max(x.a, y.a),
          .b = std::max(x.b, y.b),
          .c = std::max(x.c, y.c),
          .a_scales = std::max(x.a_scales, y.a_scales),
          .b_scales = std::max(x.b_scales, y.b_scales),
          .scratch = std::max(x.scratch, y.scratch)};
}

GpuMatmulProblem ExactProblemOf(const GpuMatmulType& type) {
  GpuMatmulProblem out = ProblemOf(type.data_type, {kExactRows, kExactRows, kExactSums});
  out.wide_output = true;
  return out;
}

GpuMatmulBytes ExactBytesOf(const GpuMatmulProblem& exact) {
  GpuMatmulBytes out = GpuBytesOf(exact, GpuRotationOf(exact, 0));
  out.scratch = 0;
  return out;
}

absl::Status FillElements(const GpuMatmulType& type, cuda::Address to, int64_t size_bytes,
                          uint64_t seed, bool integers, GpuSession& session) {
  const auto count = static_cast<uint64_t>(size_bytes * 8 / type.element_bits);
  return session.Launch("fill_matrix", WideLaunch(session), to, count, seed,
                        static_cast<int>(type.format), integers ? 1 : 0,
                        static_cast<float>(type.deviation));
}

absl::StatusOr<std::shared_ptr<GpuMatmulArena>> GpuMatmulArena::Create(
    const GpuMatmulType& type, const GpuMatmulBytes& bytes, const SharedSession& session) {
  auto out = std::make_shared<GpuMatmulArena>(GpuMatmulArena{.type = type});
  const std::pair<DeviceMemory*, int64_t> wanted[] = {
      {&out->a, bytes.a},
      {&out->b, bytes.b},
      {&out->c, bytes.c},
      {&out->a_scales, bytes.a_scales},
      {&out->b_scales, bytes.b_scales},
      {&out->scratch, bytes.scratch},
      {&out->workspace, WorkspaceBytesFor(*session)},
      {&out->hash, static_cast<int64_t>(sizeof(uint64_t))}};
  for (const auto& [memory, size_bytes] : wanted) {
    if (size_bytes == 0) continue;
    SEXTANT_ASSIGN_OR_RETURN(*memory, DeviceMemory::Allocate(session, size_bytes));
  }
  SEXTANT_ASSIGN_OR_RETURN(out->check, GpuCheck::Create(session));
  SEXTANT_RETURN_IF_ERROR(
      FillElements(type, out->a.address(), bytes.a, 0, /*integers=*/false, *session));
  SEXTANT_RETURN_IF_ERROR(
      FillElements(type, out->b.address(), bytes.b, kSeedOfB, /*integers=*/false, *session));
  if (bytes.a_scales > 0) {
    SEXTANT_RETURN_IF_ERROR(FillScales(type, out->a_scales, 2 * kSeedOfB, *session));
    SEXTANT_RETURN_IF_ERROR(FillScales(type, out->b_scales, 3 * kSeedOfB, *session));
  }
  return out;
}

GpuMatmulArenaSource::GpuMatmulArenaSource(const GpuMatmulType& type, SharedSession session)
    : session_(std::move(session)),
      arena_([this, &type] { return GpuMatmulArena::Create(type, bytes_, session_); }) {
  bytes_.scratch = ExactBytesOf(ExactProblemOf(type)).total();
}

absl::Status GpuMatmulArenaSource::Include(const GpuMatmulProblem& problem,
                                           const GpuRotation& rotation) {
  const GpuMatmulBytes bytes = GpuBytesOf(problem, rotation);
  const GpuMatmulBytes together = GpuMaximumOf(bytes_, bytes);
  const int64_t most_bytes =
      session_->memory_cap_bytes() - WorkspaceBytesFor(*session_) - kSpareBytes;
  if (together.total() > most_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "needs ", bytes.total(), " bytes of the GPU's memory (with the other shapes of its type ",
        together.total(), "), more than the ", most_bytes, " that the probe may take for them"));
  }
  bytes_ = together;
  return absl::OkStatus();
}

GpuMatmulWorkload::GpuMatmulWorkload(Parts parts)
    : GpuWorkload(parts.cublaslt->shared_session(), HostPart::kRecords), parts_(std::move(parts)) {}

GpuMatmulOperands GpuMatmulWorkload::Operands() const {
  GpuMatmulOperands out = parts_.arena->operands();
  out.b += static_cast<cuda::Address>(turn_ * parts_.rotation.stride_bytes);
  return out;
}

void GpuMatmulWorkload::Poison() {
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  const unsigned char byte = problem.output() == MatrixFormat::kInt32 ? kGpuLowByte : kGpuNanByte;
  // If this fails, so does the next run.
  (void)session().Fill(Operands().c, byte, problem.output_bytes());
}

absl::Status GpuMatmulWorkload::Enqueue() {
  turn_ = (turn_ + 1) % parts_.rotation.count;
  return parts_.matmul->Enqueue(parts_.choice, Operands());
}

absl::Status GpuMatmulWorkload::CheckRepeats() {
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  SEXTANT_ASSIGN_OR_RETURN(const uint64_t once,
                           HashOfOutput(problem, Operands(), *parts_.arena, session()));
  Poison();
  SEXTANT_RETURN_IF_ERROR(parts_.matmul->Enqueue(parts_.choice, Operands()));
  SEXTANT_ASSIGN_OR_RETURN(const uint64_t again,
                           HashOfOutput(problem, Operands(), *parts_.arena, session()));
  if (once == again) return absl::OkStatus();
  return absl::DataLossError(
      "the same operands were multiplied twice by the same kernel, and the results differ");
}

absl::Status GpuMatmulWorkload::Check() {
  // New signs each time: errors that cancel under one choice do not under the next.
  const GpuMatmulProblem& problem = parts_.matmul->problem();
  check_seed_ += static_cast<uint64_t>(problem.batch_count * problem.n);
  SEXTANT_RETURN_IF_ERROR(
      CheckGpuProduct(problem, Operands(), check_seed_, *parts_.arena, session()));
  if (checked_) return absl::OkStatus();
  checked_ = true;
  SEXTANT_RETURN_IF_ERROR(CheckRepeats());
  if (*parts_.exact_checked) return absl::OkStatus();
  *parts_.exact_checked = true;
  return CheckExactProduct(parts_.cublaslt, *parts_.arena);
}

absl::StatusOr<MatmulTrial> TryAlgorithms(
    const std::function<std::unique_ptr<GpuMatmulWorkload>(size_t choice)>& make,
    size_t choice_count, GpuSession& session, TrialBudget& budget) {
  MatmulTrial out;
  if (budget.left_seconds <= 0 || choice_count < 2) return out;
  const double start_seconds = budget.clock->NowSeconds();
  std::unique_ptr<GpuMatmulWorkload> best = make(0);
  SEXTANT_ASSIGN_OR_RETURN(const double first_seconds, TimeNew(*best));
  double best_seconds = first_seconds / kWorthChoosing;
  for (size_t i = 1; i < std::min(choice_count, kTriedChoiceCount); ++i) {
    std::unique_ptr<GpuMatmulWorkload> workload = make(i);
    const absl::StatusOr<double> seconds = TimeNew(*workload);
    if (!seconds.ok()) {
      // Where the GPU itself failed, this fails as well.
      SEXTANT_RETURN_IF_ERROR(session.Synchronize());
      continue;
    }
    if (*seconds <= 0 || *seconds >= best_seconds) continue;
    best_seconds = *seconds;
    out.choice = i;
    best = std::move(workload);
  }
  if (out.choice != 0) {
    SEXTANT_ASSIGN_OR_RETURN(out.median_seconds, MedianSeconds(*best, best_seconds));
  }
  budget.left_seconds -= budget.clock->NowSeconds() - start_seconds;
  return out;
}

}  // namespace sextant::probe
