#include "gpu_probe/cuda/matmul/gpu_matmul.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

constexpr int kHopper = 90;
constexpr int64_t kMebibyte = int64_t{1} << 20;

// The attribute's value, 0 where it is not reported: 0 has no meaning in any of them.
template <typename Value>
uint32_t Told(const CublasLt& library, const CublasLtChoice& choice, int attribute) {
  Value value = 0;
  std::size_t written = 0;
  const int code =
      library.describe(choice.algorithm.data(), attribute, &value, sizeof(value), &written);
  return code == 0 && written == sizeof(value) ? static_cast<uint32_t>(value) : 0;
}

// The number of algorithms that the library is asked for.
constexpr int kWantedChoiceCount = 8;

// 1 or 0 in the type that alpha and beta have.
union Factor {
  double fp64;
  float fp32;
  int32_t int32;
};

Factor FactorOf(int type, int value) {
  Factor out = {};
  if (type == cublaslt::kFp64) {
    out.fp64 = value;
  } else if (type == cublaslt::kInt32) {
    out.int32 = value;
  } else {
    out.fp32 = static_cast<float>(value);
  }
  return out;
}

// Memory addresses are void* to the library.
void* MatmulPointer(cuda::Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

absl::StatusOr<std::shared_ptr<CublasLtSession>> CublasLtSession::Open(CublasLt library,
                                                                       SharedSession session) {
  SEXTANT_RETURN_IF_ERROR(session->MakeCurrent());
  std::shared_ptr<CublasLtSession> out(new CublasLtSession(std::move(library), std::move(session)));
  SEXTANT_RETURN_IF_ERROR(out->library_.create.Checked(&out->handle_));
  return out;
}

CublasLtSession::~CublasLtSession() {
  if (handle_ != nullptr) (void)library_.destroy(handle_);
}

int64_t WorkspaceBytesFor(const GpuSession& session) {
  return session.compute_capability() >= kHopper ? 32 * kMebibyte : 65 * kMebibyte / 8;
}

std::string AlgorithmText(const CublasLt& library, const CublasLtChoice& choice) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* name, uint32_t number) {
    if (number != 0) parts.push_back(absl::StrCat(name, " ", number));
  };
  add("tile", Told<uint32_t>(library, choice, cublaslt::kTile));
  add("stages", Told<uint32_t>(library, choice, cublaslt::kStages));
  const uint32_t split_count = Told<int32_t>(library, choice, cublaslt::kSplitCount);
  if (split_count > 1) add("split-k", split_count);
  add("cluster", Told<uint16_t>(library, choice, cublaslt::kCluster));
  if (std::isfinite(choice.wave_count) && choice.wave_count > 0) {
    parts.push_back(absl::StrFormat("waves %.1f", choice.wave_count));
  }
  return absl::StrJoin(parts, " ");
}

template <typename Value>
absl::Status GpuMatmul::Set(int attribute, Value value) {
  return CublasStatus(library().matmul_set(matmul_, attribute, &value, sizeof(value)),
                      absl::StrCat("cublasLtMatmulDescSetAttribute ", attribute));
}

absl::StatusOr<std::unique_ptr<GpuMatmul>> GpuMatmul::Prepare(SharedCublasLt cublaslt,
                                                              const GpuMatmulProblem& problem,
                                                              const GpuMatmulScales& scales) {
  std::unique_ptr<GpuMatmul> out(new GpuMatmul(std::move(cublaslt), problem));
  SEXTANT_RETURN_IF_ERROR(out->Describe(scales));
  SEXTANT_RETURN_IF_ERROR(out->Choose());
  return out;
}

GpuMatmul::~GpuMatmul() {
  for (void* const layout : {b_layout_, a_layout_, c_layout_}) {
    if (layout != nullptr) (void)library().layout_destroy(layout);
  }
  if (matmul_ != nullptr) (void)library().matmul_destroy(matmul_);
}

absl::Status GpuMatmul::MakeLayout(int type, int64_t rows, int64_t columns, void** out) {
  SEXTANT_RETURN_IF_ERROR(library().layout_create.Checked(
      out, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), /*leading*/ rows));
  if (problem_.batch_count == 1) return absl::OkStatus();
  const auto count = static_cast<int32_t>(problem_.batch_count);
  const int64_t stride = rows * columns;
  SEXTANT_RETURN_IF_ERROR(
      CublasStatus(library().layout_set(*out, cublaslt::kBatchCount, &count, sizeof(count)),
                   "cublasLtMatrixLayoutSetAttribute of the batch"));
  return CublasStatus(library().layout_set(*out, cublaslt::kBatchStride, &stride, sizeof(stride)),
                      "cublasLtMatrixLayoutSetAttribute of the stride");
}

absl::Status GpuMatmul::SetScales(const GpuMatmulScales& scales) {
  const GpuMatmulType& type = *problem_.type;
  if (type.scale_block > 0) {
    const int mode = type.scale_block == 16 ? cublaslt::kE4m3ScaleOf16 : cublaslt::kE8m0ScaleOf32;
    SEXTANT_RETURN_IF_ERROR(Set(cublaslt::kScaleModeOfA, mode));
    SEXTANT_RETURN_IF_ERROR(Set(cublaslt::kScaleModeOfB, mode));
  } else if (!type.scaled_matrices) {
    return absl::OkStatus();
  }
  SEXTANT_RETURN_IF_ERROR(Set(cublaslt::kScaleOfA, MatmulPointer(scales.b)));
  return Set(cublaslt::kScaleOfB, MatmulPointer(scales.a));
}

absl::Status GpuMatmul::Describe(const GpuMatmulScales& scales) {
  const GpuMatmulType& type = *problem_.type;
  const int64_t m = problem_.m;
  const int64_t n = problem_.n;
  const int64_t k = problem_.k;
  SEXTANT_RETURN_IF_ERROR(
      library().matmul_create.Checked(&matmul_, type.compute_type, type.factor_type));
  const bool b_by_column = problem_.layout == v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  const bool a_by_column = problem_.layout == v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW;
  SEXTANT_RETURN_IF_ERROR(
      Set(cublaslt::kTransposeA, b_by_column ? cublaslt::kTransposed : cublaslt::kNotTransposed));
  SEXTANT_RETURN_IF_ERROR(
      Set(cublaslt::kTransposeB, a_by_column ? cublaslt::kTransposed : cublaslt::kNotTransposed));
  SEXTANT_RETURN_IF_ERROR(SetScales(scales));
  if (type.format == MatrixFormat::kE4m3) {
    SEXTANT_RETURN_IF_ERROR(
        Set(cublaslt::kFastAccumulation, static_cast<int8_t>(problem_.fast_accumulation ? 1 : 0)));
  }
  SEXTANT_RETURN_IF_ERROR(
      MakeLayout(type.input_type, b_by_column ? k : n, b_by_column ? n : k, &b_layout_));
  SEXTANT_RETURN_IF_ERROR(
      MakeLayout(type.input_type, a_by_column ? m : k, a_by_column ? k : m, &a_layout_));
  return MakeLayout(OutputElementOf(problem_.output()).cuda_type, n, m, &c_layout_);
}

absl::Status GpuMatmul::Choose() {
  void* preference = nullptr;
  SEXTANT_RETURN_IF_ERROR(library().preference_create.Checked(&preference));
  const auto workspace_bytes = static_cast<uint64_t>(WorkspaceBytesFor(cublaslt_->session()));
  int code = library().preference_set(preference, cublaslt::kMaxWorkspaceBytes, &workspace_bytes,
                                      sizeof(workspace_bytes));
  int found = 0;
  choices_.resize(kWantedChoiceCount);
  if (code == 0) {
    code = library().choose(cublaslt_->handle(), matmul_, b_layout_, a_layout_, c_layout_,
                            c_layout_, preference, kWantedChoiceCount, choices_.data(), &found);
  }
  (void)library().preference_destroy(preference);
  choices_.resize(code == 0 ? static_cast<size_t>(found) : 0);
  std::erase_if(choices_, [](const CublasLtChoice& choice) { return choice.status != 0; });
  const absl::Status chosen = CublasStatus(code, "cublasLtMatmulAlgoGetHeuristic");
  if (!chosen.ok() && !absl::IsUnimplemented(chosen)) return chosen;
  if (!choices_.empty()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      cublaslt_->engine(), " has no kernel for ", problem_.type->label(), " on this GPU",
      code == 0 ? "" : absl::StrCat(" (cublasLtMatmulAlgoGetHeuristic says ", code, ")")));
}

std::string GpuMatmul::KernelText(size_t choice) const {
  return AlgorithmText(library(), choices_[choice]);
}

absl::Status GpuMatmul::Enqueue(size_t choice, const GpuMatmulOperands& operands) const {
  const Factor one = FactorOf(problem_.type->factor_type, 1);
  const Factor zero = FactorOf(problem_.type->factor_type, 0);
  void* const c = MatmulPointer(operands.c);
  GpuSession& session = cublaslt_->session();
  const int code =
      library().multiply(cublaslt_->handle(), matmul_, &one, MatmulPointer(operands.b), b_layout_,
                         MatmulPointer(operands.a), a_layout_, &zero, c, c_layout_, c, c_layout_,
                         choices_[choice].algorithm.data(), MatmulPointer(operands.workspace),
                         choices_[choice].workspace_bytes, session.stream());
  if (code == 0) return absl::OkStatus();
  // Where the GPU itself failed, the driver's error is more precise.
  SEXTANT_RETURN_IF_ERROR(session.Synchronize());
  return CublasStatus(code, "cublasLtMatmul");
}

}  // namespace sextant::probe
