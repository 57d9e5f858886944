#include "engine/run/operation_rates.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/rates.h"
#include "engine/run/rate_requirement.h"

namespace sextant {
namespace {

constexpr double kMaxRate = 1e24;
constexpr double kMaxLaunchSeconds = 1;

// The sources of the rates.
struct Source {
  const Accelerator* datasheet = nullptr;          // null: none is known
  const DeviceCalibration* calibration = nullptr;  // null: not measured
  RateSource measured_by = RateSource::kMeasuredSupplied;
  absl::string_view name = "";
};

absl::Status Unmeasured(absl::string_view uuid, std::string description) {
  return FailedPrecondition(kRatesNotMeasured,
                            {{kRatesNotMeasured, std::string(uuid), std::move(description)}});
}

absl::Status CheckFields(const OperationDevice& d, absl::string_view path) {
  FieldViolations violations;
  const int named = (d.accelerator.empty() ? 0 : 1) + (d.device.has_value() ? 1 : 0) +
                    (d.calibration != nullptr ? 1 : 0);
  if (named > 1) {
    violations.Add(path,
                   "names a device twice: give one of accelerator, device_uuid and "
                   "calibration");
  }
  const auto rate = [&](absl::string_view name, absl::optional<double> value) {
    if (value.has_value()) {
      violations.RequireRange(
          path, name, *value,
          FieldViolations::RealRange{.low = 0, .high = kMaxRate, .above_low = true});
    } else if (named == 0 && name != "general_flops_per_second") {
      violations.Add(FieldPath(path, name),
                     "is required where no accelerator, device_uuid or calibration is given");
    }
  };
  rate("matrix_flops_per_second", d.matrix_flops_per_second);
  rate("general_flops_per_second", d.general_flops_per_second);
  rate("memory_bytes_per_second", d.memory_bytes_per_second);
  violations.RequireRange(path, "launch_seconds", d.launch_seconds,
                          FieldViolations::RealRange{.low = 0, .high = kMaxLaunchSeconds});
  CheckRequirement(d.requirement, FieldPath(path, "rate_requirement"), violations);
  return violations.ToStatus();
}

absl::StatusOr<Source> SourceFor(const OperationDevice& d) {
  if (!d.accelerator.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const Accelerator* const accelerator, FindAccelerator(d.accelerator));
    return Source{.datasheet = accelerator, .name = accelerator->name};
  }
  Source out;
  if (d.device.has_value()) {
    SEXTANT_RETURN_IF_ERROR(d.device->found);
    if (d.device->distrusted) return Unmeasured(d.device->uuid, DistrustedText(d.device->uuid));
    if (d.device->model == nullptr) {
      return Unmeasured(d.device->uuid,
                        NeverMeasuredText(d.device->uuid, "name it by device.accelerator"));
    }
    out.calibration = &d.device->model->calibration();
    out.measured_by = RateSource::kMeasuredDevice;
  } else if (d.calibration != nullptr) {
    out.calibration = &d.calibration->calibration();
  } else {
    return out;
  }
  out.datasheet = out.calibration->accelerator;
  out.name = out.datasheet != nullptr ? out.datasheet->name : out.calibration->product_name;
  return out;
}

// One figure to find, and its values in the sources.
struct Wanted {
  absl::string_view quantity;  // its name as a measured figure
  absl::string_view peak;      // its name in a datasheet
  absl::string_view unit;
  DataType type = DataType::kUnspecified;
  absl::optional<double> given = {};
  absl::optional<RateWriter::MeasuredFigure> measured = {};
  absl::optional<Measurement> measurement = {};
  Figure datasheet = {};
};

// Finds the figure in the best source that has it; absent where none does. A measured device uses
// no datasheet.
absl::optional<double> Resolve(Wanted wanted, const Source& source, std::vector<Rate>& used) {
  const bool as_peak = !wanted.given.has_value() && source.calibration == nullptr;
  RateWriter writer(
      {.quantity = as_peak ? wanted.peak : wanted.quantity,
       .data_type = wanted.type,
       .unit = wanted.unit,
       .device = source.name,
       .measured = wanted.given.has_value() ? absl::nullopt : std::move(wanted.measurement)},
      used);
  if (wanted.given.has_value()) return writer.FromRequest(*wanted.given);
  if (wanted.measured.has_value()) {
    return writer.FromMeasurement(*source.calibration, *std::move(wanted.measured));
  }
  if (as_peak && wanted.datasheet) return writer.FromDatasheet(*source.datasheet, wanted.datasheet);
  return absl::nullopt;
}

Measurement MeasurementOf(bool stable, int64_t sample_count, double relative_spread) {
  Measurement out = {.stable = stable};
  if (sample_count > 1) out.relative_spread = relative_spread;
  return out;
}

void AddPass(const absl::optional<MeasuredPass>& pass, const Source& source, Wanted& wanted) {
  if (!pass.has_value()) return;
  wanted.measured = {.value = pass->per_second,
                     .source = source.measured_by,
                     .citation = CitationOf(*source.calibration, *pass)};
  wanted.measurement = MeasurementOf(pass->stable, pass->sample_count, pass->relative_spread);
}

Wanted MatrixRate(const OperationDevice& d, const Source& source, DataType type) {
  Wanted out = {.quantity = "matmul_flops_per_second",
                .peak = "peak_flops_per_second",
                .unit = "FLOP/s",
                .type = type,
                .given = d.matrix_flops_per_second};
  if (source.datasheet != nullptr) out.datasheet = PeakFlopsPerSecond(*source.datasheet, type);
  if (source.calibration == nullptr) return out;
  if (const MeasuredMatmul* m = source.calibration->MatmulIn(type); m != nullptr) {
    out.measured = {.value = m->rate.value(),
                    .source = source.measured_by,
                    .citation = CitationOf(*source.calibration, *m)};
    out.measurement = MeasurementOf(m->stable, m->sample_count, m->relative_spread);
  }
  return out;
}

Wanted GeneralRate(const OperationDevice& d, const Source& source, DataType type) {
  const DataType general = type == DataType::kFp64 ? type : DataType::kFp32;
  Wanted out = {.quantity = "general_flops_per_second",
                .peak = "peak_general_flops_per_second",
                .unit = "FLOP/s",
                .type = general,
                .given = d.general_flops_per_second};
  if (source.datasheet != nullptr) {
    out.datasheet = general == DataType::kFp64 ? source.datasheet->fp64_flops_per_second
                                               : source.datasheet->fp32_flops_per_second;
  }
  if (source.calibration != nullptr && general == DataType::kFp32) {
    AddPass(source.calibration->elementwise, source, out);
  }
  return out;
}

Wanted MemoryRate(const OperationDevice& d, const Source& source) {
  Wanted out = {.quantity = "memory_bandwidth_bytes_per_second",
                .peak = "peak_memory_bandwidth_bytes_per_second",
                .unit = "byte/s",
                .given = d.memory_bytes_per_second};
  if (source.datasheet != nullptr) {
    out.datasheet = source.datasheet->memory_bandwidth_bytes_per_second;
  }
  if (source.calibration != nullptr) AddPass(source.calibration->memory_copy(), source, out);
  return out;
}

Notes NotesOf(const OperationDevice& d, const Source& source, const DeviceRates& rates,
              absl::string_view path) {
  Notes out;
  if (source.calibration == nullptr && source.datasheet != nullptr) {
    out.push_back(
        {NoteKind::kDatasheetPeaks,
         "The datasheet's peaks are taken in full; kernels that were measured stay below them."});
  }
  if (!rates.general.has_value()) {
    const std::string field = FieldPath(path, "general_flops_per_second");
    out.push_back({.kind = NoteKind::kGeneralRateUnknown,
                   .text = absl::StrCat("Arithmetic that is no matrix product is taken at the rate "
                                        "of matrix products: the device's general units have no "
                                        "known rate, and the request gives no ",
                                        field, "."),
                   .fields = {field}});
  }
  if (d.launch_seconds == 0) {
    const std::string field = FieldPath(path, "launch_seconds");
    out.push_back({.kind = NoteKind::kLaunchesFree,
                   .text = absl::StrCat("Kernels launch in no time: ", field, " is 0."),
                   .fields = {field}});
  }
  if (d.requirement.maximum_age_seconds.has_value() && !d.device.has_value()) {
    const std::string field = absl::StrCat(FieldPath(path, "rate_requirement"), ".maximum_age");
    out.push_back({.kind = NoteKind::kAgeLimitsNothing,
                   .text = absl::StrCat(
                       field,
                       " limits none of the rates: it is about measurements of the server's own "
                       "devices, and the request names none of them."),
                   .fields = {field}});
  }
  return out;
}

}  // namespace

absl::StatusOr<OperationRates> RatesFor(const OperationDevice& device, DataType type,
                                        absl::string_view path) {
  SEXTANT_RETURN_IF_ERROR(CheckFields(device, path));
  SEXTANT_ASSIGN_OR_RETURN(const Source source, SourceFor(device));
  OperationRates out;
  const Wanted wanted_matrix = MatrixRate(device, source, type);
  if (wanted_matrix.datasheet) {
    out.datasheet_peak = FlopsPerSecond(wanted_matrix.datasheet.value);
  }
  const auto matrix = Resolve(wanted_matrix, source, out.used);
  if (!matrix.has_value() && source.calibration != nullptr) {
    return Unmeasured(source.calibration->uuid,
                      NotInTypeText(*source.calibration, type, "data_types.input"));
  }
  const auto general = Resolve(GeneralRate(device, source, type), source, out.used);
  const auto memory = Resolve(MemoryRate(device, source), source, out.used);
  FieldViolations missing;
  if (!matrix.has_value()) {
    missing.Add(FieldPath(path, "matrix_flops_per_second"),
                absl::StrCat("is required: the catalogue has no dense ", DataTypeName(type),
                             " peak of ", source.name));
  }
  if (!memory.has_value()) {
    missing.Add(FieldPath(path, "memory_bytes_per_second"),
                absl::StrCat("is required: no copy in main memory was measured, or published, of ",
                             source.name));
  }
  SEXTANT_RETURN_IF_ERROR(missing.ToStatus());
  out.rates = {.matrix = FlopsPerSecond(*matrix),
               .memory = BytesPerSecond(*memory),
               .launch = Seconds(device.launch_seconds)};
  if (general.has_value()) out.rates.general = FlopsPerSecond(*general);
  SEXTANT_RETURN_IF_ERROR(CheckOperationRates(device, out.used, path));
  out.notes = NotesOf(device, source, out.rates, path);
  return out;
}

}  // namespace sextant
