#include "engine/run/whole_run.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"
#include "engine/run/memory_estimate.h"
#include "engine/tensor/storage.h"
#include "engine/time/exchange_pricer.h"

namespace sextant {
namespace {

constexpr double kSecondsPerMinute = 60;
constexpr double kMinGoodput = 0.01;
constexpr double kMaxCounted = 9.2e18;
constexpr int64_t kIdBytesOnDevice = 8;  // int64, as frameworks index embeddings
constexpr char kFailures[] = "interruptions.failures_per_device_hour";
constexpr char kWriteRate[] = "interruptions.checkpoint_write_bytes_per_second";

// Counts beyond an int64 end at its limit.
int64_t Whole(double count) { return static_cast<int64_t>(std::min(count, kMaxCounted)); }
Bytes Rounded(double bytes) { return Bytes(Whole(std::ceil(bytes))); }

// Bytes that a device reads for each parameter that it holds, and for each that it trains.
struct ReadRule {
  double weight = 0;
  double trained = 0;
};

ReadRule ReadRuleOf(const ModelState& state, const WeightCount& parameters) {
  ReadRule out;
  for (const StateTerm& term : state.terms) {
    if (term.is_gradient()) continue;
    if (term.name == "weight") {
      out.weight = static_cast<double>(term.element_bytes);
    } else if (parameters.trainable > 0) {
      out.trained +=
          static_cast<double>(term.size.value()) / static_cast<double>(parameters.trainable);
    }
  }
  return out;
}

// Bytes that a device of one stage reads: its shards, divided among data parallel ranks as in
// memory.
double ReadOn(int64_t stage, const MemoryModel& model, const ReadRule& rule) {
  const MemoryJob& job = model.job();
  const StateSharding& sharding = job.state.sharding;
  const StateRanks ranks = StateRanksOf(job.layout, sharding, job.batch.context_parallel_size);
  const StageWeights weights = model.weights().GroupsOn(stage);
  double out = 0;
  for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
    const ShardCount& held = weights.of(group);
    const auto shares = static_cast<double>(ranks.of(group));
    out +=
        static_cast<double>(held.total) * rule.weight / (DividesParameters(sharding) ? shares : 1);
    out += static_cast<double>(held.trainable) * rule.trained /
           (DividesOptimizer(sharding) ? shares : 1);
  }
  return out;
}

// Without a layout every device reads its even share.
void AddResume(const ReadRule& rule, const ResolvedRun& resolved, int64_t device_count,
               CheckpointPlan& out) {
  if (!resolved.memory.has_value()) {
    out.resume_read = out.size;
    out.resume_read_per_device =
        Rounded(static_cast<double>(out.size.value()) / static_cast<double>(device_count));
    return;
  }
  const MemoryModel& model = *resolved.memory;
  const int64_t stages = model.stage_count();
  const bool two_ends = model.job().pipeline.schedule == PipelineSchedule::kDualPipe;
  const int64_t devices_of_stage = device_count / stages;
  double all = 0;
  double most = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    double read = ReadOn(stage, model, rule);
    if (two_ends) read += ReadOn(stages - 1 - stage, model, rule);
    all += read * static_cast<double>(devices_of_stage);
    most = std::max(most, read);
  }
  out.resume_read = Rounded(all);
  out.resume_read_per_device = Rounded(most);
}

void AddRates(const RunSpec& run, CheckpointPlan& out) {
  const absl::optional<double> write = CheckpointWriteRate(run);
  const absl::optional<double>& given = run.interruptions.checkpoint_read_bytes_per_second;
  const absl::optional<double> read = given.has_value() ? given : write;
  if (write.has_value()) out.write = Seconds(static_cast<double>(out.size.value()) / *write);
  if (read.has_value()) out.resume = Seconds(static_cast<double>(out.resume_read.value()) / *read);
}

// Computes the run's interruptions; sets the intervals of `checkpoint`.
//
// Errors: kInvalidArgument for a checkpoint that isn't written before the next, or before a
// failure.
absl::StatusOr<Interruptions> InterruptionsOf(const RunSpec& run, CheckpointPlan& checkpoint) {
  const InterruptionSpec& spec = run.interruptions;
  Interruptions out = {.stall_ratio = spec.stall_ratio.value_or(0)};
  if (!spec.writes()) return out;
  out.write = *checkpoint.write;
  out.stall = out.write * spec.checkpoint_stall_ratio.value_or(1);
  out.restart = Seconds(spec.restart_seconds.value_or(0)) + checkpoint.resume.value_or(Seconds(0));
  const Seconds in_background = out.write - out.stall;
  if (spec.fails()) {
    out.between_failures = Seconds(formula::BetweenFailures(
        *spec.failures_per_device_hour, static_cast<double>(run.cluster.device_count)));
    if (out.write >= *out.between_failures) {
      FieldViolations violations;
      const std::string why = absl::StrFormat(
          "the run fails every %.3g s on average, before a checkpoint of %.3g s is written: give "
          "fewer failures or a higher rate",
          out.between_failures->value(), out.write.value());
      violations.Add(kFailures, why);
      violations.Add(kWriteRate, why);
      return violations.ToStatus();
    }
    checkpoint.young_interval = YoungInterval(out.stall, *out.between_failures);
    checkpoint.daly_interval = DalyInterval(out.stall, *out.between_failures);
    out.interval = std::max(*checkpoint.daly_interval, out.write);
  }
  if (spec.checkpoint_interval_seconds.has_value()) {
    out.interval = Seconds(*spec.checkpoint_interval_seconds);
    if (*out.interval < in_background) {
      return InvalidField("interruptions.checkpoint_interval",
                          absl::StrFormat("must be at least %.3g s: a checkpoint is still being "
                                          "written for so long while the run trains",
                                          in_background.value()));
    }
  }
  return out;
}

absl::Status CheckProgress(const WholeRun& whole) {
  const ElapsedShares& elapsed = whole.elapsed;
  if (elapsed.all() * kMinGoodput <= elapsed.steps + elapsed.stalls) return absl::OkStatus();
  const Interruptions& in = whole.interruptions;
  if (!in.between_failures.has_value()) {
    return InvalidField("interruptions.checkpoint_interval",
                        absl::StrFormat("leaves less than %g %% of the time to training, since a "
                                        "checkpoint stalls it for %.3g s: give a longer one",
                                        100 * kMinGoodput, in.stall.value()));
  }
  return InvalidField(
      kFailures,
      absl::StrFormat(
          "the run fails every %.3g s on average and restarts in %.3g s, so that less than %g %% "
          "of its time is training: give fewer failures, a shorter restart or more frequent "
          "checkpoints",
          in.between_failures->value(), in.restart.value(), 100 * kMinGoodput));
}

absl::Status AddData(const RunSpec& run, ResolvedRun& resolved, WholeRun& whole) {
  const ArchitectureSpec* const shape = resolved.shape.architecture;
  if (shape == nullptr || shape->embedding.vocabulary_size < 1) return absl::OkStatus();
  DataLoading& out = whole.data.emplace();
  SEXTANT_ASSIGN_OR_RETURN(out.bytes_per_token_id, TokenIdBytes(shape->embedding.vocabulary_size));
  SEXTANT_ASSIGN_OR_RETURN(out.token_file,
                           TokenBytes(run.training.token_count, out.bytes_per_token_id));
  if (!whole.steps.has_value()) return absl::OkStatus();
  const MemoryJob& job = resolved.memory->job();
  const int64_t tokens = job.pipeline.micro_batch_count * job.batch.sequence_count *
                         job.batch.sequence_length / job.batch.context_parallel_size;
  out.device_step.emplace(tokens * kIdBytesOnDevice);
  // Where the run offloads, its rates have the link already.
  absl::optional<BytesPerSecond> link;
  if (resolved.host.link.value() > 0) {
    link = resolved.host.link;
  } else {
    link = HostLinkOf(run, resolved, resolved.rates);
  }
  if (!link.has_value()) return absl::OkStatus();
  out.device_copy.emplace(static_cast<double>(out.device_step->value()) / link->value());
  return absl::OkStatus();
}

// The slowest device by the step's prediction, else by the rates of matrix multiplication.
absl::optional<SlowestDevice> SlowestOf(const RunSpec& run, const ResolvedRun& resolved,
                                        const StepAnswer& answer) {
  if (answer.step.has_value()) return answer.step->slowest;
  if (!resolved.measured.has_value()) return absl::nullopt;
  const MeasuredGang& gang = *resolved.measured;
  absl::optional<FlopsPerSecond> next;
  for (const DeviceModel* const model : run.cluster.device.models()) {
    const MeasuredMatmul* const matmul =
        model->calibration().MatmulIn(resolved.precision.compute_data_type);
    if (&model->calibration() == gang.slowest || matmul == nullptr) continue;
    next = std::min(next.value_or(matmul->rate), matmul->rate);
  }
  if (!next.has_value() || *next <= gang.matmul->rate) return absl::nullopt;
  return SlowestDevice{.uuid = gang.slowest->uuid,
                       .saved_share = 1 - gang.matmul->rate.value() / next->value()};
}

void AddSlowest(const PlannedSteps& steps, const ResolvedRun& resolved, WholeRun& out) {
  const absl::optional<SlowestDevice> slowest = SlowestOf(steps.run, resolved, steps.step);
  if (!slowest.has_value()) return;
  out.slowest.emplace().device = *slowest;
  for (const DeviceModel* const model : steps.run.cluster.device.models()) {
    const DeviceCalibration& calibration = model->calibration();
    if (calibration.uuid == slowest->uuid) out.slowest->hostname = calibration.hostname;
  }
}

}  // namespace

Seconds YoungInterval(Seconds stall, Seconds between_failures) {
  return Seconds(formula::YoungInterval(stall.value(), between_failures.value()));
}

Seconds DalyInterval(Seconds stall, Seconds between_failures) {
  const double ratio = stall.value() / (2 * between_failures.value());
  if (ratio >= 1) return between_failures;
  return Seconds(formula::DalyInterval(stall.value(), between_failures.value(), ratio));
}

ElapsedShares ElapsedPerSecond(const Interruptions& in) {
  ElapsedShares out = {.stalls = in.stall_ratio};
  if (!in.interval.has_value()) return out;
  // Checkpoints are a distance of work apart, whatever the work is.
  const double work = out.steps + out.stalls;
  const double interval = in.interval->value();
  out.checkpoints = formula::CheckpointShare(work, in.stall.value(), interval);
  if (!in.between_failures.has_value()) return out;
  const double restart = (in.restart + in.write - in.stall).value();
  const double failed =
      formula::FailedShare(in.between_failures->value(), restart, interval, in.stall.value());
  // Rounding may leave less than nothing where failures are rare.
  out.failures = work * (failed < 0 ? 0 : failed);
  return out;
}

Seconds DeviationOfFailures(const Interruptions& in, Seconds elapsed) {
  if (!in.between_failures.has_value() || !in.interval.has_value()) return Seconds(0);
  const double lost = (*in.interval + in.stall).value();
  const double always = (in.restart + in.write - in.stall).value();
  const double square = lost * lost / 3 + lost * always + always * always;
  return Seconds(std::sqrt(elapsed.value() / in.between_failures->value() * square));
}

absl::optional<double> CheckpointWriteRate(const RunSpec& run) {
  const InterruptionSpec& spec = run.interruptions;
  absl::optional<double> out = spec.checkpoint_write_bytes_per_second;
  if (!spec.device_write_bytes_per_second.has_value()) return out;
  const double devices =
      *spec.device_write_bytes_per_second * static_cast<double>(run.cluster.device_count);
  return std::min(out.value_or(devices), devices);
}

absl::StatusOr<WholeRun> PlanWholeRun(const PlannedSteps& steps, ResolvedRun& resolved) {
  const RunSpec& run = steps.run;
  WholeRun out;
  const WeightCount& parameters = resolved.parameters.all;
  out.checkpoint = {CheckpointOf(steps.state, parameters)};
  AddResume(ReadRuleOf(steps.state, parameters), resolved, run.cluster.device_count,
            out.checkpoint);
  AddRates(run, out.checkpoint);
  SEXTANT_ASSIGN_OR_RETURN(out.interruptions, InterruptionsOf(run, out.checkpoint));
  out.elapsed = ElapsedPerSecond(out.interruptions);
  SEXTANT_RETURN_IF_ERROR(CheckProgress(out));
  if (run.layout.has_value() && run.layout->global_batch_size.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(out.steps, StepsOf(run, resolved, steps.step, steps.work));
  }
  SEXTANT_RETURN_IF_ERROR(AddData(run, resolved, out));
  AddSlowest(steps, resolved, out);
  return out;
}

void AddTimes(const TimeEstimate& basis, WholeRun& whole) {
  const Interruptions& in = whole.interruptions;
  if (in.between_failures.has_value()) {
    whole.failure_count =
        formula::FailureCount(basis.elapsed.value(), in.between_failures->value());
  }
  if (in.interval.has_value()) {
    whole.checkpoint.count = Whole(
        formula::CheckpointCount(basis.duration.value(), in.stall_ratio, in.interval->value()));
  }
  if (whole.data.has_value()) {
    whole.data->read_rate.emplace(basis.tokens_per_second *
                                  static_cast<double>(whole.data->bytes_per_token_id));
  }
  if (whole.slowest.has_value()) {
    const double share = whole.slowest->device.saved_share;
    whole.slowest->saved = basis.elapsed * share;
    if (basis.cost.has_value()) whole.slowest->saved_cost = *basis.cost * share;
  }
  whole.time_limit = RecommendedTimeLimit(whole, basis);
}

absl::optional<Seconds> RecommendedTimeLimit(const WholeRun& whole, const TimeEstimate& estimate) {
  const Seconds side = estimate.elapsed_high - estimate.elapsed;
  if (side <= Seconds(0)) return absl::nullopt;
  const Seconds failures =
      DeviationOfFailures(whole.interruptions, estimate.elapsed) * kNinetiethPercentile;
  const double all = estimate.elapsed.value() + std::hypot(side.value(), failures.value());
  return Seconds(std::ceil(all / kSecondsPerMinute) * kSecondsPerMinute);
}

absl::string_view EstimateKindName(EstimateKind kind) {
  constexpr absl::string_view kNames[] = {"lower_bound", "textbook", "measured_bound", "predicted"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace sextant
