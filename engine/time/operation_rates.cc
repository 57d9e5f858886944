#include "engine/time/operation_rates.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/rates.h"
#include "engine/time/rate_requirement.h"

namespace sextant {
namespace {

constexpr double kMinRate = 1;  // so that every quotient is finite
constexpr double kMaxRate = 1e24;
constexpr double kMaxLaunchSeconds = 1;

// The sources of the rates.
struct Source {
  const Accelerator* datasheet = nullptr;              // null: none is known
  std::vector<const DeviceCalibration*> devices = {};  // of one product; empty: not measured
  RateSource measured_by = RateSource::kMeasuredSupplied;
  absl::string_view name = "";

  bool is_measured() const { return !devices.empty(); }
};

// Says of each device that has no rate of matrix products in `type` that it has none.
absl::Status NotMeasuredIn(DataType type, const Source& source) {
  std::vector<PreconditionViolation> missing;
  for (const DeviceCalibration* const device : source.devices) {
    if (device->MatmulIn(type) != nullptr) continue;
    missing.push_back(
        {kRatesNotMeasured, device->uuid, NotInTypeText(*device, type, "data_types.input")});
  }
  return FailedPrecondition(kRatesNotMeasured, missing);
}

absl::Status CheckFields(const OperationDevice& d, absl::string_view path, OperationNeed need) {
  FieldViolations violations;
  const std::string selector = FieldPath(path, "device");
  CheckSelection(d.device, selector, violations);
  const auto rate = [&](absl::string_view name, absl::optional<double> value, bool needed) {
    if (value.has_value()) {
      violations.RequireRange(path, name, *value,
                              FieldViolations::RealRange{.low = kMinRate, .high = kMaxRate});
    } else if (d.device.empty() && needed) {
      violations.Add(FieldPath(path, name),
                     absl::StrCat("is required where ", selector, " is left out"));
    }
  };
  rate("matrix_flops_per_second", d.matrix_flops_per_second, need == OperationNeed::kProducts);
  rate("general_flops_per_second", d.general_flops_per_second, false);
  rate("memory_bytes_per_second", d.memory_bytes_per_second, true);
  violations.RequireRange(path, "launch_seconds", d.launch_seconds,
                          FieldViolations::RealRange{.low = 0, .high = kMaxLaunchSeconds});
  CheckRequirement(d.requirement, FieldPath(path, "rate_requirement"), violations);
  return violations.ToStatus();
}

absl::StatusOr<Source> SourceFor(const OperationDevice& d, absl::string_view path) {
  const std::string selector = FieldPath(path, "device");
  std::vector<UnknownName> unknown;
  FieldViolations several;
  Source out = {.datasheet = FindSelected(d.device, selector, unknown)};
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown, several));
  SEXTANT_RETURN_IF_ERROR(
      CheckMeasured(d.device, absl::StrCat("name it by ", selector, ".accelerator")));
  for (const DeviceModel* const model : d.device.models()) {
    out.devices.push_back(&model->calibration());
  }
  out.measured_by = d.device.source();
  if (out.is_measured()) out.datasheet = out.devices.front()->accelerator;
  if (out.datasheet != nullptr) {
    out.name = out.datasheet->name;
  } else if (out.is_measured()) {
    out.name = out.devices.front()->product_name;
  }
  return out;
}

// A measured figure of one device.
struct Found {
  const DeviceCalibration* device = nullptr;
  RateWriter::MeasuredFigure figure = {};
  Measurement measurement = {};
};

// One figure to find, and its values in the sources.
struct Wanted {
  absl::string_view quantity;  // its name as a measured figure
  absl::string_view peak;      // its name in a datasheet
  absl::string_view unit;
  DataType type = DataType::kUnspecified;
  absl::optional<double> given = {};
  absl::optional<Found> measured = {};
  DatasheetValue datasheet = {};
};

// Finds the figure in the best source that has it; absent where none does. A measured device uses
// no datasheet.
absl::optional<double> Resolve(Wanted wanted, const Source& source, std::vector<Rate>& used) {
  const bool as_peak = !wanted.given.has_value() && !source.is_measured();
  absl::optional<Measurement> measurement;
  if (!wanted.given.has_value() && wanted.measured.has_value()) {
    measurement = wanted.measured->measurement;
  }
  RateWriter writer({.quantity = as_peak ? wanted.peak : wanted.quantity,
                     .data_type = wanted.type,
                     .unit = wanted.unit,
                     .device = source.name,
                     .measured = measurement},
                    used);
  if (wanted.given.has_value()) return writer.FromRequest(*wanted.given);
  if (wanted.measured.has_value()) {
    return writer.FromMeasurement(*wanted.measured->device, std::move(wanted.measured->figure));
  }
  if (as_peak && wanted.datasheet) return writer.FromDatasheet(*source.datasheet, wanted.datasheet);
  return absl::nullopt;
}

Measurement MeasurementOf(bool stable, int64_t sample_count, double relative_spread) {
  Measurement out = {.stable = stable};
  if (sample_count > 1) out.relative_spread = relative_spread;
  return out;
}

absl::optional<Found> MatmulOf(const DeviceCalibration& device, DataType type) {
  const MeasuredMatmul* const m = device.MatmulIn(type);
  if (m == nullptr) return absl::nullopt;
  return Found{.device = &device,
               .figure = {.value = m->rate.value(), .citation = CitationOf(device, *m)},
               .measurement = MeasurementOf(m->stable, m->sample_count, m->relative_spread)};
}

absl::optional<Found> PassOf(const DeviceCalibration& device,
                             const absl::optional<MeasuredPass>& pass) {
  if (!pass.has_value()) return absl::nullopt;
  return Found{
      .device = &device,
      .figure = {.value = pass->per_second, .citation = CitationOf(device, *pass)},
      .measurement = MeasurementOf(pass->stable, pass->sample_count, pass->relative_spread)};
}

// The slowest device's figure; absent where a device lacks it.
template <typename FigureOf>
absl::optional<Found> SlowestOf(const Source& source, const FigureOf& figure_of) {
  absl::optional<Found> out;
  for (const DeviceCalibration* const device : source.devices) {
    absl::optional<Found> its = figure_of(*device);
    if (!its.has_value()) return absl::nullopt;
    if (!out.has_value() || its->figure.value < out->figure.value) out = std::move(its);
  }
  if (!out.has_value()) return out;
  out->figure.source = source.measured_by;
  if (source.devices.size() > 1) {
    absl::StrAppend(&out->figure.citation, "; the slowest of ", source.devices.size(), " devices");
  }
  return out;
}

Wanted MatrixRate(const OperationDevice& d, const Source& source, DataType type) {
  Wanted out = {.quantity = "matmul_flops_per_second",
                .peak = "peak_flops_per_second",
                .unit = "FLOP/s",
                .type = type,
                .given = d.matrix_flops_per_second};
  if (source.datasheet != nullptr) out.datasheet = PeakFlopsPerSecond(*source.datasheet, type);
  out.measured = SlowestOf(source, [type](const auto& device) { return MatmulOf(device, type); });
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
  if (general == DataType::kFp32) {
    out.measured =
        SlowestOf(source, [](const auto& device) { return PassOf(device, device.elementwise); });
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
  out.measured =
      SlowestOf(source, [](const auto& device) { return PassOf(device, device.memory_copy()); });
  return out;
}

Notes NotesOf(const OperationDevice& d, const Source& source, const DeviceRates& rates,
              absl::string_view path) {
  Notes out;
  if (!source.is_measured() && source.datasheet != nullptr) {
    out.push_back(
        {NoteKind::kDatasheetPeaks,
         "The datasheet's peaks are taken in full; kernels that were measured stay below them."});
  }
  if (!rates.general.has_value()) {
    const std::string field = FieldPath(path, "general_flops_per_second");
    AddNote(
        out, NoteKind::kGeneralRateUnknown,
        absl::StrCat("Arithmetic that is not a matrix product is taken ",
                     rates.matrix.has_value() ? "at the rate of matrix products"
                                              : "to take no time of its own",
                     ": the device's general units have no known rate, and the request gives no ",
                     field, "."),
        field);
  }
  if (d.launch_seconds == 0) {
    const std::string field = FieldPath(path, "launch_seconds");
    AddNote(out, NoteKind::kLaunchesFree,
            absl::StrCat("Kernels launch in no time: ", field, " is 0."), field);
  }
  AppendFleetNotes(d.device, FieldPath(path, "device.fleet"), true, out);
  if (d.requirement.maximum_age_seconds.has_value() && d.device.devices.empty() &&
      !d.device.fleet.has_value()) {
    const std::string field = absl::StrCat(FieldPath(path, "rate_requirement"), ".maximum_age");
    AddNote(out, NoteKind::kAgeLimitsNothing,
            absl::StrCat(field,
                         " limits none of the rates: it is about measurements of the server's own "
                         "devices, and the request names none of them."),
            field);
  }
  return out;
}

}  // namespace

absl::StatusOr<OperationRates> RatesFor(const OperationDevice& device, DataType type,
                                        absl::string_view path, OperationNeed need) {
  SEXTANT_RETURN_IF_ERROR(CheckFields(device, path, need));
  SEXTANT_ASSIGN_OR_RETURN(const Source source, SourceFor(device, path));
  OperationRates out;
  const Wanted wanted_matrix = MatrixRate(device, source, type);
  if (wanted_matrix.datasheet) {
    out.datasheet_peak = FlopsPerSecond(wanted_matrix.datasheet.value);
  }
  const auto matrix = Resolve(wanted_matrix, source, out.used);
  const bool lacks_products = !matrix.has_value() && need == OperationNeed::kProducts;
  if (lacks_products && source.is_measured()) return NotMeasuredIn(type, source);
  const auto general = Resolve(GeneralRate(device, source, type), source, out.used);
  const auto memory = Resolve(MemoryRate(device, source), source, out.used);
  FieldViolations missing;
  if (lacks_products) {
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
  out.rates = {.memory = BytesPerSecond(*memory), .launch = Seconds(device.launch_seconds)};
  if (matrix.has_value()) out.rates.matrix = FlopsPerSecond(*matrix);
  if (general.has_value()) out.rates.general = FlopsPerSecond(*general);
  SEXTANT_RETURN_IF_ERROR(CheckOperationRates(device, out.used, path));
  out.notes = NotesOf(device, source, out.rates, path);
  return out;
}

}  // namespace sextant
