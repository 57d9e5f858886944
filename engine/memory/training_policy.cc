#include "engine/memory/training_policy.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr int64_t kMaxBlockSize = 1'000'000'000;

void RequireStorage(FieldViolations& violations, absl::string_view path, absl::string_view name,
                    DataType type) {
  if (type == DataType::kUnspecified || IsStorageType(type)) return;
  violations.Add(FieldPath(path, name),
                 absl::StrCat(DataTypeName(type), " is not accounted for as a storage format: ",
                              "write FP64, FP32, FP16, BF16, FP8, FP8_E4M3 or FP8_E5M2"));
}

// True where bitsandbytes has a paged optimizer of that kind.
bool IsPaged(OptimizerKind kind) {
  return kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamw ||
         kind == OptimizerKind::kLion || kind == OptimizerKind::kAdam8bit;
}

// Options that the optimizer does not have.
void CheckOptions(const OptimizerSpec& optimizer, absl::string_view path,
                  FieldViolations& violations) {
  if (optimizer.quantization_block_size.has_value()) {
    violations.RequireRange(path, "optimizer.quantization_block_size",
                            *optimizer.quantization_block_size, 1, kMaxBlockSize);
    if (optimizer.kind != OptimizerKind::kAdam8bit) {
      violations.Add(FieldPath(path, "optimizer.quantization_block_size"),
                     "is an option of KIND_ADAM_8BIT: leave it out, or choose that kind");
    }
  }
  if (optimizer.paged && !IsPaged(optimizer.kind)) {
    violations.Add(FieldPath(path, "optimizer.paged"),
                   "is of ADAM, ADAMW, LION and ADAM_8BIT, which bitsandbytes pages: leave it out");
  }
  if (optimizer.galore_rank.has_value() && optimizer.kind != OptimizerKind::kGalore) {
    violations.Add(FieldPath(path, "optimizer.galore_rank"),
                   "is an option of KIND_GALORE: leave it out, or choose that kind");
  }
  if (optimizer.adafactor_momentum && optimizer.kind != OptimizerKind::kAdafactor) {
    violations.Add(FieldPath(path, "optimizer.adafactor_momentum"),
                   "is an option of KIND_ADAFACTOR: leave it out, or choose that kind");
  }
}

}  // namespace

double StepCopyShare(OptimizerKind kind, OptimizerLoop loop) {
  const bool adam = kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamw;
  return adam && loop == OptimizerLoop::kForeach ? 0.5 : 0;
}

DataType StorageFor(DataType compute) {
  if (compute == DataType::kTf32) return DataType::kFp32;
  return StorageBytes(compute) >= 2 ? compute : DataType::kBf16;
}

bool NeedsShapes(OptimizerKind kind) {
  return kind == OptimizerKind::kAdafactor || kind == OptimizerKind::kMuon ||
         kind == OptimizerKind::kGalore;
}

bool CanCompute(DataType type) {
  return type != DataType::kUnspecified && type != DataType::kInt8 && type != DataType::kInt4;
}

PrecisionPolicy WithDefaults(PrecisionPolicy policy) {
  constexpr DataType kNone = DataType::kUnspecified;
  if (policy.compute_data_type == kNone) policy.compute_data_type = DataType::kBf16;
  if (policy.weight_data_type == kNone) {
    policy.weight_data_type = StorageFor(policy.compute_data_type);
  }
  if (policy.gradient_data_type == kNone) policy.gradient_data_type = policy.weight_data_type;
  if (!policy.master_weights.has_value()) {
    policy.master_weights = StorageBytes(policy.weight_data_type) < 4;
  }
  if (policy.optimizer_data_type == kNone) policy.optimizer_data_type = DataType::kFp32;
  return policy;
}

void CheckPolicy(const PrecisionPolicy& policy, const OptimizerSpec& optimizer,
                 absl::string_view path, FieldViolations& violations) {
  if (policy.compute_data_type != DataType::kUnspecified && !CanCompute(policy.compute_data_type)) {
    violations.Add(FieldPath(path, "precision.compute_data_type"),
                   absl::StrCat(DataTypeName(policy.compute_data_type),
                                " multiplies integers, which no training here is modelled in: "
                                "write a floating-point type"));
  }
  RequireStorage(violations, path, "precision.weight_data_type", policy.weight_data_type);
  RequireStorage(violations, path, "precision.gradient_data_type", policy.gradient_data_type);
  RequireStorage(violations, path, "precision.optimizer_data_type", policy.optimizer_data_type);
  if (policy.master_weights.value_or(false) && StorageBytes(policy.weight_data_type) > 4) {
    violations.Add(FieldPath(path, "precision.master_weights"),
                   "are fp32, narrower than fp64 weights: leave them out");
  }
  const bool quantized = optimizer.kind == OptimizerKind::kAdam8bit;
  if (optimizer.kind == OptimizerKind::kSgd &&
      policy.optimizer_data_type != DataType::kUnspecified) {
    violations.Add(FieldPath(path, "precision.optimizer_data_type"),
                   "does not go with KIND_SGD, which keeps no state: leave it out");
  }
  if (quantized && policy.optimizer_data_type != DataType::kUnspecified) {
    violations.Add(FieldPath(path, "precision.optimizer_data_type"),
                   "does not go with KIND_ADAM_8BIT, which has a format of its own: leave it out");
  }
  CheckOptions(optimizer, path, violations);
}

}  // namespace sextant
