#include "gpu_probe/cuda/gpu_session.h"

#include <new>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_system.h"

namespace sextant::probe {
namespace {

// CUDA_ERROR_NOT_FOUND of cuda.h.
constexpr int kNotInThisModule = 500;

// True where a driver that answers with `code` may still load another image of the same kernels: it
// can't read this one (200), which has no machine code for the GPU (209), or PTX that the driver
// does not understand (218) or that is too new for it (222). Numbers: CUresult of cuda.h.
bool MayTryAnotherImage(int code) {
  return code == 200 || code == 209 || code == 218 || code == 222;
}

// "9.0" as 90.
int CapabilityOf(const v1::Device& device) {
  double capability = 0;
  if (!absl::SimpleAtod(device.compute_capability(), &capability)) return 0;
  return static_cast<int>(capability * 10 + 0.5);
}

}  // namespace

absl::StatusOr<SharedSession> GpuSession::Open(Parts parts) {
  SharedSession session(new GpuSession(std::move(parts)));
  SEXTANT_RETURN_IF_ERROR(session->Start());
  return session;
}

absl::Status GpuSession::Start() {
  const CudaDriver& cuda = parts_.driver;
  compute_capability_ = CapabilityOf(device());
  SEXTANT_RETURN_IF_ERROR(cuda.retain_context.Checked(&context_, parts_.gpu.ordinal));
  SEXTANT_RETURN_IF_ERROR(MakeCurrent());
  SEXTANT_RETURN_IF_ERROR(cuda.make_stream.Checked(&stream_, cuda::kNonBlockingStream));
  SEXTANT_RETURN_IF_ERROR(LoadKernels());
  return parts_.holds ? MakeHold() : absl::OkStatus();
}

absl::Status GpuSession::LoadKernels() {
  const std::vector<KernelImage>& images = parts_.images;
  const int supported = SupportedCuda(parts_.driver);
  absl::string_view loaded;
  for (size_t i = 0; i < images.size(); ++i) {
    const KernelImage& image = images[i];
    if (image.name == loaded) continue;
    const bool is_last =
        i + 1 == images.size() || images[i + 1].name != absl::string_view(image.name);
    if (!is_last && supported > 0 && supported < image.oldest_cuda) continue;
    cuda::Module module = nullptr;
    const cuda::Result code = parts_.driver.load_module(&module, image.bytes);
    if (code == 0) {
      modules_.push_back(module);
      loaded = image.name;
    } else if (is_last || !MayTryAnotherImage(code)) {
      return CudaStatus(code, absl::StrCat("cuModuleLoadData of ", image.name));
    }
  }
  return absl::OkStatus();
}

GpuSession::~GpuSession() {
  const CudaDriver& cuda = parts_.driver;
  if (context_ == nullptr) return;
  // A failure here follows an earlier one, which was reported.
  (void)cuda.set_context(context_);
  if (stream_ != nullptr) {
    (void)cuda.wait_stream(stream_);
    (void)cuda.drop_stream(stream_);
  }
  if (released_ != nullptr) (void)cuda.free_host(released_);
  for (const cuda::Module module : modules_) (void)cuda.unload_module(module);
  (void)cuda.release_context(parts_.gpu.ordinal);
}

absl::Status GpuSession::MakeCurrent() { return parts_.driver.set_context.Checked(context_); }

absl::StatusOr<cuda::Function> GpuSession::Find(const char* name) {
  const auto known = functions_.find(name);
  if (known != functions_.end()) return known->second;
  for (const cuda::Module module : modules_) {
    cuda::Function function = nullptr;
    const cuda::Result code = parts_.driver.find_function(&function, module, name);
    if (code == kNotInThisModule) continue;
    SEXTANT_RETURN_IF_ERROR(CudaStatus(code, absl::StrCat("cuModuleGetFunction of ", name)));
    functions_.emplace(name, function);
    return function;
  }
  return absl::InternalError(absl::StrCat("the probe has no kernel \"", name, "\""));
}

absl::Status GpuSession::LaunchPointers(const char* name, const LaunchShape& shape,
                                        void** pointers) {
  SEXTANT_ASSIGN_OR_RETURN(const cuda::Function function, Find(name));
  const int code = parts_.driver.launch(function, shape.block_count, shape.block_row_count, 1,
                                        shape.thread_count, 1, 1, /*shared bytes*/ 0, stream_,
                                        pointers, nullptr);
  return code == 0 ? absl::OkStatus() : CudaStatus(code, absl::StrCat("cuLaunchKernel of ", name));
}

absl::Status GpuSession::Synchronize() { return parts_.driver.wait_stream.Checked(stream_); }

absl::Status GpuSession::MakeHold() {
  void* pinned = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      CudaStatus(parts_.driver.pin_host(&pinned, sizeof(*released_), cuda::kPlainHostMemory),
                 "cuMemHostAlloc of a flag"));
  released_ = new (pinned) std::atomic<uint32_t>(0);
  // Loads the kernel, with a hold that ends at once.
  const auto flag = reinterpret_cast<cuda::Address>(released_);
  SEXTANT_RETURN_IF_ERROR(Launch("hold_stream", {.block_count = 1, .thread_count = 1}, flag,
                                 /*hold=*/uint32_t{0}, /*most_ns=*/uint64_t{0}));
  return Synchronize();
}

absl::Status GpuSession::Hold() {
  if (!parts_.holds) return absl::OkStatus();
  return Launch("hold_stream", {.block_count = 1, .thread_count = 1},
                reinterpret_cast<cuda::Address>(released_), ++hold_count_,
                static_cast<uint64_t>(kMaxHoldSeconds * 1e9));
}

void GpuSession::Release() {
  if (released_ != nullptr) released_->store(hold_count_, std::memory_order_release);
}

absl::Status GpuSession::Fill(cuda::Address to, unsigned char byte, int64_t size_bytes) {
  return parts_.driver.fill_bytes.Checked(to, byte, static_cast<size_t>(size_bytes), stream_);
}

absl::Status GpuSession::CopyToHost(void* to, cuda::Address from, int64_t size_bytes) {
  SEXTANT_RETURN_IF_ERROR(
      parts_.driver.to_host.Checked(to, from, static_cast<size_t>(size_bytes), stream_));
  return Synchronize();
}

absl::Status GpuSession::CopyToDevice(cuda::Address to, const void* from, int64_t size_bytes) {
  SEXTANT_RETURN_IF_ERROR(
      parts_.driver.to_device.Checked(to, from, static_cast<size_t>(size_bytes), stream_));
  return Synchronize();
}

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(SharedSession session, int64_t size_bytes) {
  const int64_t left_bytes = session->memory_cap_bytes() - session->allocated_bytes_;
  if (size_bytes > left_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", size_bytes, " bytes of the GPU's memory, and the probe may take ",
                     session->memory_cap_bytes(), ", of which ", left_bytes, " are left"));
  }
  DeviceMemory memory;
  SEXTANT_RETURN_IF_ERROR(
      CudaStatus(session->driver().allocate(&memory.address_, static_cast<size_t>(size_bytes)),
                 absl::StrCat("cuMemAlloc_v2 of ", size_bytes, " bytes")));
  memory.size_bytes_ = size_bytes;
  session->allocated_bytes_ += size_bytes;
  session->peak_bytes_ = std::max(session->peak_bytes_, session->allocated_bytes_);
  memory.session_ = std::move(session);
  return memory;
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(address_, other.address_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (session_ == nullptr) return;
  (void)session_->driver().free(address_);
  session_->allocated_bytes_ -= size_bytes_;
}

absl::StatusOr<GpuCheck> GpuCheck::Create(const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(DeviceMemory memory,
                           DeviceMemory::Allocate(session, sizeof(GpuCheckReport)));
  return GpuCheck(session, std::move(memory));
}

absl::Status GpuCheck::Clear() {
  const GpuCheckReport clear;
  return session_->CopyToDevice(memory_.address(), &clear, sizeof(clear));
}

absl::StatusOr<GpuCheckReport> GpuCheck::Read() {
  GpuCheckReport report;
  SEXTANT_RETURN_IF_ERROR(session_->CopyToHost(&report, memory_.address(), sizeof(report)));
  return report;
}

absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun) {
  if (!report.ok()) return report.status();
  if (report->wrong_count == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(report->wrong_count, " of ", count, " ", noun,
                                          "s are wrong, the first of them ", noun, " ",
                                          report->first_wrong));
}

}  // namespace sextant::probe
