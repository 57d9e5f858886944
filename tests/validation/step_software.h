// What a row's columns say about software and machines, in the service's names.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_SOFTWARE_H_
#define SEXTANT_TESTS_VALIDATION_STEP_SOFTWARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/layout.pb.h"
#include "tests/support/csv.h"

namespace sextant {

// A training framework as the table's column names it, releases together.
struct StepSoftware {
  absl::string_view column;  // what the column starts with
  absl::string_view name;    // of it in reports
  absl::string_view stack;   // layout.software.name
  v1::FrameworkMemory::Kind kind = v1::FrameworkMemory::KIND_UNSPECIFIED;
  bool unfused_attention = false;  // before 2023
  bool dropout = false;            // in all of its models
  bool pads_vocabulary = false;    // to 128 times the tensor parallel size (Megatron)
};

// Errors: kInvalidArgument for frameworks without a rule.
absl::StatusOr<const StepSoftware*> StepSoftwareOf(const CsvRow& row);

// A kind of device and server.
struct StepHardware {
  absl::string_view column;       // what column gpu_key starts with
  absl::string_view label;        // of it in reports: "H100"
  absl::string_view accelerator;  // of the catalogue
  absl::string_view node_type;
  double network_gigabits = 0;  // of one device, where the row says nothing else
  // Of a device that differs from `accelerator`, over that one's: times of products (a lower power
  // limit) and of passes over memory.
  double product_time_ratio = 1;
  double memory_time_ratio = 1;
  bool power_open = false;
};

// Errors: kInvalidArgument for hardware that isn't timed.
absl::StatusOr<const StepHardware*> StepHardwareOf(const CsvRow& row);

// Bytes a second of one device between servers: by column hardware_note, else the hardware's.
double StepNetworkOf(const CsvRow& row, const StepHardware& hardware);

// The number format of matrix products.
struct StepFormat {
  std::string name;  // "bf16", "fp16", "fp8", "mxfp8", "nvfp4"
  v1::DataType type = v1::DATA_TYPE_UNSPECIFIED;
  bool row_scaled = false;  // one scale a row of a matrix

  bool narrow() const;
};

// Errors: kInvalidArgument for an empty column or one without a rule.
absl::StatusOr<StepFormat> StepFormatOf(const CsvRow& row);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_SOFTWARE_H_
