// The notes on time and what it costs.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/run/planned_run.h"

namespace sextant {
namespace {

// Returns ", and a short burst of 1024x1024x1024, stable, ran at 2e+12 FLOP/s" where that casts
// doubt on the measured rate, else "".
std::string FasterBurstText(const MeasuredGang& gang) {
  const MeasuredMatmul* burst = gang.slowest->FasterBurstIn(gang.matmul->data_type);
  if (burst == nullptr) return "";
  return absl::StrCat(", and a short burst of ", burst->m, "x", burst->n, "x", burst->k,
                      ", stable, ran at ", burst->rate.value(), " FLOP/s");
}

// Warns of a rate whose own samples disagree, or that was measured while the device was disturbed.
void AboutDisturbance(const MeasuredGang& gang, Notes& out) {
  const MeasuredMatmul& matmul = *gang.matmul;
  const DeviceCalibration& calibration = *gang.slowest;
  Note note = {.kind = NoteKind::kRateUnstable, .text = ""};
  std::vector<std::string> reasons;
  if (!matmul.stable) {
    note.values.push_back({"sample_count", matmul.sample_count});
    if (matmul.sample_count == 0) {
      reasons.push_back("its samples disagree");
    } else if (matmul.sample_count == 1) {
      reasons.push_back("it is of a single sample");
    } else {
      reasons.push_back(
          absl::StrCat("its samples have a relative spread of ", matmul.relative_spread));
      note.values.push_back({"relative_spread", matmul.relative_spread});
    }
    reasons.back() += FasterBurstText(gang);
  }
  if (calibration.HasFewStablePoints()) {
    reasons.push_back(absl::StrCat(calibration.stable_point_count, " of ", calibration.point_count,
                                   " points of the calibration are stable"));
    note.values.push_back({"stable_point_count", calibration.stable_point_count});
    note.values.push_back({"point_count", calibration.point_count});
  }
  if (calibration.HasDrifted()) {
    const double drift = *calibration.drift_ratio;
    reasons.push_back(absl::StrFormat("the device became %.1f %% %s while it was measured",
                                      100 * std::abs(drift), drift > 0 ? "slower" : "faster"));
    note.values.push_back({"drift_ratio", drift});
  }
  if (reasons.empty()) return;
  note.text = absl::StrCat(
      matmul.stable ? "The measurement was disturbed: " : "The measured rate is not stable: ",
      absl::StrJoin(reasons, ", "), "; measure again while the device does nothing else.");
  out.push_back(std::move(note));
}

// Warns of a measurement that may not show what the devices can do.
void AboutStability(const MeasuredGang& gang, Notes& out) {
  AboutDisturbance(gang, out);
  if (gang.slowest->coverage_ratio < 1) {
    AddNote(out, NoteKind::kCalibrationPartial,
            absl::StrCat("The calibration of ", gang.slowest->uuid, " is partial, ",
                         gang.slowest->coverage_ratio,
                         " of the planned points: a shape left out may be faster."))
        .values = {{"coverage_ratio", gang.slowest->coverage_ratio}};
  }
}

// The meaning of the measured rate, and its limits: device count, stability, coverage.
void AboutMeasurement(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const MeasuredGang& gang = *resolved.measured;
  const MeasuredMatmul& matmul = *gang.matmul;
  Note bound = {.kind = NoteKind::kMeasuredBound,
                .text = "The measured bound takes the whole run to be as fast as a "};
  if (matmul.m == 0) {
    absl::StrAppend(&bound.text, "large matrix multiplication");
  } else {
    absl::StrAppend(&bound.text, "matrix multiplication of ", matmul.m, "x", matmul.n, "x",
                    matmul.k);
    bound.values = {{"m", matmul.m}, {"n", matmul.n}, {"k", matmul.k}};
  }
  absl::StrAppend(&bound.text, matmul.sustained
                                   ? ", kept up for a second or more."
                                   : " in short bursts: a device that gets warm may be slower.");
  out.push_back(std::move(bound));
  const int64_t devices = run.cluster.device_count;
  if (devices > gang.measured_count) {
    AddNote(out, NoteKind::kDevicesNotMeasured,
            absl::StrCat("Of ", devices, " devices ", gang.measured_count,
                         gang.measured_count == 1 ? " was" : " were",
                         " measured; the others are taken to be no slower."))
        .values = {{"device_count", devices}, {"measured_device_count", gang.measured_count}};
  }
  AboutStability(gang, out);
  if (gang.slowest->processor) {
    AddNote(out, NoteKind::kDeviceIsProcessor,
            absl::StrCat("The device is a processor, ", gang.slowest->product_name,
                         ", all of it taken to work on the run alone."));
  }
}

// The types with a datasheet peak, as text; empty for a measured device.
std::string OtherTypesText(const ResolvedRun& resolved) {
  if (resolved.measured.has_value() || resolved.accelerator == nullptr) return "";
  std::vector<absl::string_view> names;
  for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                              DataType::kBf16, DataType::kFp8, DataType::kFp6, DataType::kFp4}) {
    if (PeakFlopsPerSecond(*resolved.accelerator, type)) names.push_back(DataTypeName(type));
  }
  return names.empty() ? ""
                       : absl::StrCat(", or a training.precision.compute_data_type that has one (",
                                      absl::StrJoin(names, ", "), ")");
}

void AboutPeak(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const auto arithmetic = [&] {
    return absl::StrCat("All arithmetic runs in ",
                        DataTypeName(resolved.precision.compute_data_type));
  };
  if (!resolved.peak.has_value()) {
    AddNote(out, NoteKind::kPeakUnknown,
            absl::StrCat("No peak of ", resolved.device_name,
                         " is known, hence no lower bound, no textbook estimate and no MFU: give "
                         "cluster.peak_flops_per_second",
                         OtherTypesText(resolved), " to have them. ", arithmetic(), "."),
            "cluster.peak_flops_per_second");
    return;
  }
  if (run.options.assumptions) {
    AddNote(out, NoteKind::kPeak,
            absl::StrCat(run.cluster.peak_flops_per_second.has_value()
                             ? "The peak is the request's"
                             : "The peak is the datasheet's, dense",
                         resolved.measured.has_value() ? ". " : "; nothing was measured. ",
                         arithmetic(), "."));
  }
  if (!resolved.measured.has_value()) return;
  const FlopsPerSecond measured = resolved.measured->matmul->rate;
  if (measured <= *resolved.peak) return;
  AddNote(out, NoteKind::kMeasuredAbovePeak,
          "The devices were measured above their peak, so one of the two figures is wrong.")
      .values = {{"measured_flops_per_second", measured.value()},
                 {"peak_flops_per_second", resolved.peak->value()}};
}

void AboutAssumedMfu(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  if (!resolved.peak.has_value() || run.options.assumed_mfu.has_value()) return;
  const DataType compute = resolved.precision.compute_data_type;
  AddNote(
      out, NoteKind::kMfuAssumed,
      absl::StrCat("The textbook estimate assumes an MFU of ", kAssumedMfu, ": ", kAssumedMfuSource,
                   compute == DataType::kBf16
                       ? ""
                       : absl::StrCat("; runs in ", DataTypeName(compute), " were not looked at"),
                   ". Give options.assumed_mfu for another."),
      "options.assumed_mfu")
      .values = {{"mfu", kAssumedMfu}};
}

// A device that holds the others back by less is within the spread of repeated measurements.
constexpr double kNoticedShare = 0.01;

void AboutInterruptions(const InterruptionSpec& spec, Notes& out) {
  std::vector<std::string> absent;
  std::vector<std::string> fields;
  const auto check = [&](bool given, const char* what, const char* field) {
    if (given) return;
    absent.push_back(what);
    fields.push_back(absl::StrCat("interruptions.", field));
  };
  check(spec.failures_per_device_hour.has_value(), "failures", "failures_per_device_hour");
  if (spec.fails()) {
    check(spec.restart_seconds.has_value(), "restart time other than reading the checkpoint",
          "restart_duration");
  } else {
    check(spec.writes(), "checkpoints", "checkpoint_interval");
  }
  check(spec.stall_ratio.has_value(), "evaluation and data stalls", "stall_ratio");
  if (absent.size() == 3 && !spec.fails()) {
    AddNote(out, NoteKind::kNothingFails,
            "Failures, restarts, checkpoints, evaluation and data stalls take no time: give "
            "interruptions to count them.",
            "interruptions");
    return;
  }
  std::string text = absent.empty()
                         ? ""
                         : absl::StrCat("No time is counted for ", absl::StrJoin(absent, " and "),
                                        ": give ", absl::StrJoin(fields, " and "), ". ");
  absl::StrAppend(
      &text,
      spec.fails()
          ? "Failures are independent of each other and of the run's age, and may hit restarts."
          : "The run never fails.");
  AddNote(out, NoteKind::kInterruptionsAssumed, std::move(text));
  out.back().fields.assign(fields.begin(), fields.end());
}

void AboutEconomics(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  const EconomicsSpec& e = run.economics;
  const auto add = [&out](NoteKind kind, std::string text, std::string field) {
    AddNote(out, kind, std::move(text), std::move(field));
  };
  if (!e.device_hour_price_usd.has_value()) {
    add(NoteKind::kPriceMissing, "No cost: give economics.device_hour_price_usd.",
        "economics.device_hour_price_usd");
  }
  if (!resolved.device_power.has_value()) {
    add(NoteKind::kPowerMissing,
        "No energy: the catalogue has no power limit of this device; give "
        "economics.device_power_watts.",
        "economics.device_power_watts");
    return;
  }
  if (resolved.measured_power) {
    add(NoteKind::kPowerMeasured,
        "A device draws all the time what was measured during the sustained multiplication that "
        "its rate is of: give economics.device_power_watts for another figure.",
        "economics.device_power_watts");
    out.back().values = {{"power_watts", resolved.device_power->value()}};
  } else if (!e.device_power_watts.has_value()) {
    add(NoteKind::kPowerLimitDrawn,
        "A device draws its datasheet's power limit all the time: give "
        "economics.device_power_watts for another figure.",
        "economics.device_power_watts");
  }
  if (!e.host_power_watts_per_device.has_value()) {
    add(NoteKind::kHostPowerMissing,
        "Hosts and network draw nothing: give economics.host_power_watts_per_device.",
        "economics.host_power_watts_per_device");
  }
  if (!e.power_usage_effectiveness.has_value()) {
    add(NoteKind::kFacilityPowerMissing,
        "The facility adds nothing: give economics.power_usage_effectiveness.",
        "economics.power_usage_effectiveness");
  }
}

void AboutLimits(const TimeEstimate& basis, Notes& out) {
  if (basis.deadline.has_value() && !basis.deadline->met) {
    const double late = -basis.deadline->margin;
    AddNote(out, NoteKind::kDeadlineMissed,
            absl::StrFormat("The %s run ends %.1f days after the deadline.",
                            EstimateKindName(basis.kind), late / kSecondsPerDay),
            "economics.deadline")
        .values = {{"late_seconds", late}};
  }
  if (basis.budget.has_value() && !basis.budget->met) {
    const double excess = -basis.budget->margin;
    AddNote(out, NoteKind::kBudgetExceeded,
            absl::StrFormat("The %s run costs %.2f USD more than the budget.",
                            EstimateKindName(basis.kind), excess),
            "economics.budget_usd")
        .values = {{"excess_usd", excess}};
  }
}

// " and 1234.50 USD"; empty without a price.
std::string MoneyText(absl::optional<Dollars> cost) {
  return cost.has_value() ? absl::StrFormat(" and %.2f USD", cost->value()) : "";
}

void AboutSlowest(const SlowestCost& slowest, Notes& out) {
  const double share = slowest.device.saved_share;
  if (share < kNoticedShare) return;
  AddNote(out, NoteKind::kSlowestDevice,
          absl::StrFormat("All devices wait for %s%s: the next slowest in its place would save "
                          "%.3g %% of the run, %.3g days%s.",
                          slowest.device.uuid,
                          slowest.hostname.empty() ? "" : " on " + slowest.hostname, 100 * share,
                          slowest.saved.value() / kSecondsPerDay, MoneyText(slowest.saved_cost)),
          "cluster.device")
      .values = {{"saved_share", share}, {"saved_seconds", slowest.saved.value()}};
}

}  // namespace

void AppendTimeNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  AboutPeak(run, resolved, out);
  if (run.options.assumptions) AboutAssumedMfu(run, resolved, out);
  if (resolved.measured.has_value()) AboutMeasurement(run, resolved, out);
  AppendFleetNotes(run.cluster.device, "cluster.device.fleet", run.options.assumptions, out);
  if (!run.options.assumptions) return;
  if (run.rate_requirement.maximum_age_seconds.has_value() && run.cluster.device.devices.empty() &&
      !run.cluster.device.fleet.has_value()) {
    AddNote(out, NoteKind::kAgeLimitsNothing,
            "rate_requirement.maximum_age limits nothing here: it is about measurements of the "
            "server's own devices, and the run names none of them.",
            "rate_requirement.maximum_age");
  }
  if (resolved.accelerator != nullptr && !resolved.accelerator->notes.empty()) {
    AddNote(out, NoteKind::kCatalogue,
            absl::StrCat("The catalogue notes on ", resolved.accelerator->name, ": ",
                         resolved.accelerator->notes, "."));
  }
}

void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out) {
  if (!run.options.assumptions) return;
  AboutInterruptions(run.interruptions, out);
  AboutEconomics(run, resolved, out);
}

void AppendResultNotes(const TimeEstimate& basis, const WholeRun& whole, Notes& out) {
  AboutLimits(basis, out);
  if (whole.slowest.has_value()) AboutSlowest(*whole.slowest, out);
}

}  // namespace sextant
