// The number formats and the optimizer of a training run.
#ifndef SEXTANT_ENGINE_MEMORY_TRAINING_POLICY_H_
#define SEXTANT_ENGINE_MEMORY_TRAINING_POLICY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/trace/training_choices.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// As sextant.v1.PrecisionPolicy: kUnspecified and absent mean the default.
struct PrecisionPolicy {
  DataType compute_data_type = DataType::kUnspecified;
  DataType weight_data_type = DataType::kUnspecified;
  DataType gradient_data_type = DataType::kUnspecified;
  absl::optional<bool> master_weights = {};
  DataType optimizer_data_type = DataType::kUnspecified;
};

enum class OptimizerKind {
  kSgd,
  kSgdMomentum,
  kAdagrad,
  kRmsprop,
  kAdam,
  kAdamw,
  kAdafactor,
  kLion,
  kMuon,
  kAdam8bit,
  kGalore,
};

// Source: huggingface/transformers, src/transformers/trainer.py (galore_rank: "rank" of
// optim_args).
inline constexpr int64_t kDefaultGaloreRank = 128;

// Elements that share one scale in 8-bit Adam, where the request gives no size.
// Source: Dettmers et al. 2022 (arXiv 2110.02861) section 2.1, B = 2048.
inline constexpr int64_t kDefaultQuantizationBlockSize = 2048;

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdamw;
  absl::optional<OptimizerLoop> loop = {};   // absent: the framework's
  bool paged = false;                        // its state moves to the host where a GPU is full
  bool in_backward = false;                  // a gradient is freed as soon as it is there
  absl::optional<int64_t> galore_rank = {};  // kGalore only
  bool adafactor_momentum = false;
  absl::optional<int64_t> quantization_block_size = {};  // kAdam8bit only
};

// The bytes that a step of `loop` copies, as a share of all moments: torch's
// foreach implementation takes the square roots of all second moments at once.
// Source: pytorch/pytorch, torch/optim/adamw.py, _multi_tensor_adamw() (exp_avg_sq_sqrt).
double StepCopyShare(OptimizerKind kind, OptimizerLoop loop);

// True where a run can compute in `type`: any floating-point type.
bool CanCompute(DataType type);

// The storage type of tensors that are computed with in `compute`: the type itself, fp32 for tf32,
// bf16 for anything below 16 bits.
DataType StorageFor(DataType compute);

// True where the optimizer's state depends on the shapes of the model's tensors, not only on the
// parameter count.
bool NeedsShapes(OptimizerKind kind);

// `policy` with its defaults filled in:
//   compute    bf16
//   weight     compute, or fp32 for tf32, or bf16 for anything below 16 bits
//   gradient   weight
//   master     kept where a weight has fewer than 4 bytes
//   optimizer  fp32
// The common mixed-precision recipe: Micikevicius et al. 2018 (arXiv 1710.03740) section 3.1
// for the fp32 master copy; Rajbhandari et al. 2020 (arXiv 1910.02054) section 3.1 for
// 2 + 2 + 12 bytes a parameter with Adam.
PrecisionPolicy WithDefaults(PrecisionPolicy policy);

// Appends the errors of `policy` and `optimizer` to `violations`, under paths that start with
// `path` (e.g. "training"): formats that can't store or compute, a block size out of range, an
// option that this optimizer ignores.
void CheckPolicy(const PrecisionPolicy& policy, const OptimizerSpec& optimizer,
                 absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRAINING_POLICY_H_
