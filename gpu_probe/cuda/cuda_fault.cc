#include "gpu_probe/cuda/cuda_fault.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"

namespace sextant::probe {
namespace {

constexpr char kDriverVersion[] = "driver_version";

using absl::StatusCode;

struct KnownFault {
  int code;
  StatusCode status;
  const char* reason;
  const char* sentence;
};

constexpr char kSticky[] = "sticky";
constexpr char kEndProcess[] =
    "the kernel failed, and with it all later work of this process; run the probe again, and "
    "suspect the GPU where that repeats (look for Xid in the kernel's log)";

constexpr char kUnreadKernels[] =
    "the driver can't read the kernels in this program: it is older than they are, or the file is "
    "damaged; install a newer driver, or this program anew";

constexpr char kOtherKernels[] =
    "the driver can't run the kernels in this program: the GPU is of another kind than they were "
    "made for, and the driver older than their PTX; install a newer driver";

// Names and numbers: CUresult of cuda.h, cudaError of driver_types.h (CUDA 13.0).
constexpr KnownFault kFaults[] = {
    {2, StatusCode::kResourceExhausted, "memory",
     "the GPU's memory is too little; free some, or give a lower --memory_cap"},
    {34, StatusCode::kNotFound, kStubLibrary,
     "libcuda.so.1 is the stub that programs are linked with, not a driver; take its folder off "
     "LD_LIBRARY_PATH, or install a driver"},
    {35, StatusCode::kNotFound, kDriverTooOld,
     "the driver is older than the CUDA library that was loaded; install a newer driver, or an "
     "older CUDA library"},
    {46, StatusCode::kAborted, "mode",
     "another process has the GPU to itself (compute mode exclusive), or nobody may use it "
     "(prohibited); wait until it ends, or set the mode to default"},
    {100, StatusCode::kNotFound, kNoDevice,
     "the driver sees no GPU; pass one to this container or virtual machine"},
    {101, StatusCode::kNotFound, kNoDevice, "a GPU that was named is not there"},
    {200, StatusCode::kNotFound, kDriverTooOld, kUnreadKernels},
    {209, StatusCode::kNotFound, kDriverTooOld, kOtherKernels},
    {214, StatusCode::kDataLoss, "ecc", "uncorrectable ECC error; drain this GPU, and reset it"},
    {218, StatusCode::kNotFound, kDriverTooOld, kOtherKernels},
    {222, StatusCode::kNotFound, kDriverTooOld, kOtherKernels},
    {304, StatusCode::kNotFound, kNoDevice,
     "the system does not let this process open the GPU's device files; see /dev/nvidia* and the "
     "container's device rules"},
    {700, StatusCode::kInternal, kSticky, kEndProcess},
    {702, StatusCode::kInternal, kSticky, kEndProcess},
    {710, StatusCode::kInternal, kSticky, kEndProcess},
    {714, StatusCode::kInternal, kSticky, kEndProcess},
    {715, StatusCode::kInternal, kSticky, kEndProcess},
    {716, StatusCode::kInternal, kSticky, kEndProcess},
    {717, StatusCode::kInternal, kSticky, kEndProcess},
    {718, StatusCode::kInternal, kSticky, kEndProcess},
    {719, StatusCode::kInternal, kSticky, kEndProcess},
    {802, StatusCode::kNotFound, kNoDevice,
     "the GPUs are there but not ready; start nvidia-fabricmanager, or wait until it has done"},
    {803, StatusCode::kNotFound, kVersionMismatch,
     "the driver in the kernel and its libraries are of different versions; load the new module "
     "(reboot), or start the container anew"},
    {804, StatusCode::kNotFound, kVersionMismatch,
     "the CUDA compatibility libraries do not support this GPU; take them off LD_LIBRARY_PATH"},
};

}  // namespace

absl::Status Absent(absl::string_view word, absl::string_view sentence) {
  return WithMetadata(absl::NotFoundError(sentence), "reason", word);
}

absl::Status AbsentDespiteDriver(absl::string_view word, absl::string_view sentence,
                                 absl::string_view driver_version) {
  return WithMetadata(Absent(word, sentence), kDriverVersion, driver_version);
}

bool IsNoDriver(const absl::Status& absent) {
  bool without_driver = false;
  for (const auto& [key, value] : MetadataOf(absent)) {
    if (key == kDriverVersion) return false;
    if (key == "reason" && value == kNoDriver) without_driver = true;
  }
  return without_driver;
}

absl::Status CudaStatus(int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  const auto known = std::find_if(std::begin(kFaults), std::end(kFaults),
                                  [code](const KnownFault& fault) { return fault.code == code; });
  if (known == std::end(kFaults)) {
    return WithMetadata(absl::InternalError(absl::StrCat(
                            call, " failed with CUDA's error ", code,
                            "; look for NVRM and Xid in the kernel's log, and run nvidia-smi")),
                        "reason", "cuda");
  }
  return WithMetadata(absl::Status(known->status, absl::StrCat(known->sentence, " (", call,
                                                               ": CUDA's error ", code, ")")),
                      "reason", known->reason);
}

}  // namespace sextant::probe
