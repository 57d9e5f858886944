#include "tests/gpu_probe/cuda/fake_host.h"

#include <cstdio>
#include <utility>

#include "tests/gpu_probe/cuda/fake_memory_kernels.h"

namespace sextant {
namespace {

constexpr int kInvalidDevice = 101;

nvml::Device HandleOf(FakeGpu* gpu) { return reinterpret_cast<nvml::Device>(gpu); }

void Write(const std::string& text, char* out, std::size_t size) {
  std::snprintf(out, size, "%s", text.c_str());
}

// A question about one GPU, which answers it with its code or by `answer`.
template <typename Answer>
auto About(Answer answer) {
  return [answer](nvml::Device device, auto... outputs) {
    FakeGpu& gpu = *reinterpret_cast<FakeGpu*>(device);
    if (gpu.on_question) gpu.on_question();
    if (gpu.nvml_code == nvml::kSuccess) answer(gpu, outputs...);
    return gpu.nvml_code;
  };
}

// NVML has a list of processes, of which it tells the length to those who have room for none.
std::function<nvml::Return(nvml::Device, unsigned*, void*)> List(unsigned FakeGpu::*length) {
  return [length](nvml::Device device, unsigned* count, void* entries) {
    FakeGpu& gpu = *reinterpret_cast<FakeGpu*>(device);
    if (gpu.on_question) gpu.on_question();
    if (gpu.nvml_code != nvml::kSuccess) return gpu.nvml_code;
    const bool room = entries != nullptr || gpu.*length == 0;
    *count = gpu.*length;
    return room ? nvml::kSuccess : nvml::kInsufficientSize;
  };
}

void AddLoad(Nvml* out) {
  out->memory2 = About([](const FakeGpu& gpu, nvml::Memory2* memory) {
    if (memory->version == 0x02000028) *memory = gpu.memory;
  });
  out->memory1 = About([](const FakeGpu& gpu, nvml::Memory1* memory) {
    *memory = {.total = gpu.memory.total,
               .free = gpu.memory.free,
               .used = gpu.memory.total - gpu.memory.free};
  });
  out->utilization = About([](const FakeGpu& gpu, nvml::Utilization* load) {
    *load = {.gpu = gpu.utilization_percent, .memory = 0};
  });
  out->processes = List(&FakeGpu::process_count);
  out->mps_processes = List(&FakeGpu::mps_process_count);
  out->temperature = About([](const FakeGpu& gpu, int sensor, unsigned* celsius) {
    if (sensor == 0) *celsius = gpu.celsius;
  });
}

void AddModes(Nvml* out) {
  out->compute_mode = About([](const FakeGpu& gpu, int* mode) { *mode = gpu.compute_mode; });
  out->mig_mode = About([](const FakeGpu& gpu, unsigned* current, unsigned* pending) {
    *current = gpu.mig_mode;
    *pending = gpu.mig_mode;
  });
  out->is_mig_instance = About(
      [](const FakeGpu& gpu, unsigned* is_instance) { *is_instance = gpu.mig_instance ? 1 : 0; });
  out->gpu_of_instance = [](nvml::Device device, nvml::Device* whole) {
    *whole = device;
    return nvml::kSuccess;
  };
  out->enforced_power_limit =
      About([](const FakeGpu& gpu, unsigned* milliwatts) { *milliwatts = gpu.milliwatts; });
}

void AddHealth(Nvml* out) {
  out->ecc_mode = About([](const FakeGpu& gpu, int* current, int* pending) {
    *current = gpu.ecc_mode;
    *pending = gpu.ecc_mode;
  });
  out->ecc_errors = About([](const FakeGpu& gpu, int type, int counter, unsigned long long* count) {
    // Uncorrected ones of this boot are the only that were set.
    *count = type == 1 && counter == 0 ? gpu.error_count : 0;
  });
  out->retirement_pending =
      About([](const FakeGpu& gpu, int* pending) { *pending = gpu.retirement_pending; });
  out->remapped_rows = About([](const FakeGpu& gpu, unsigned* corrected, unsigned* uncorrected,
                                unsigned* pending, unsigned* failed) {
    *corrected = 0;
    *uncorrected = 0;
    *pending = gpu.remap_pending;
    *failed = gpu.remap_failed;
  });
}

void AddConditions(Nvml* out) {
  out->clock = About([](const FakeGpu& gpu, int type, unsigned* megahertz) {
    if (type == 1) *megahertz = gpu.sm_megahertz;
  });
  out->maximum_clock = About([](const FakeGpu& gpu, int type, unsigned* megahertz) {
    if (type == 1) *megahertz = gpu.maximum_sm_megahertz;
  });
  out->energy = About([](const FakeGpu& gpu, unsigned long long* millijoules) {
    *millijoules = static_cast<unsigned long long>(gpu.joules * 1e3);
  });
  out->throttle_reasons = About(
      [](const FakeGpu& gpu, unsigned long long* reasons) { *reasons = gpu.throttle_reasons; });
}

}  // namespace

FakeHost::FakeHost(int gpu_count) {
  for (int i = 1; i <= gpu_count; ++i) {
    gpus.push_back({.identity = static_cast<unsigned char>(i)});
  }
  AddMemoryKernels(*this);
}

void FakeHost::At(double seconds, std::function<void()> change) {
  changes_.emplace_back(seconds, std::move(change));
}

void FakeHost::Sleep(double seconds) {
  const double before_seconds = now_seconds_;
  now_seconds_ += seconds;
  for (const auto& [due_seconds, change] : changes_) {
    if (due_seconds > before_seconds && due_seconds <= now_seconds_) change();
  }
}

CudaDriver FakeHost::Driver() {
  CudaDriver driver;
  driver.init = [this](unsigned) { return cuda_init_code; };
  driver.driver_version = [this](int* version) {
    *version = cuda_version;
    return 0;
  };
  driver.device_count = [this](int* count) {
    *count = static_cast<int>(gpus.size());
    return 0;
  };
  driver.device = [this](cuda::Device* device, int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= gpus.size()) return kInvalidDevice;
    *device = index;
    return 0;
  };
  const auto gpu = [this](cuda::Device device) { return gpus[static_cast<std::size_t>(device)]; };
  driver.name = [gpu](char* out, int size, cuda::Device device) {
    Write(gpu(device).name, out, static_cast<std::size_t>(size));
    return gpu(device).cuda_code;
  };
  driver.uuid = [gpu](cuda::Uuid* uuid, cuda::Device device) {
    uuid->fill(gpu(device).identity);
    return gpu(device).cuda_code;
  };
  driver.attribute = [gpu](int* value, int attribute, cuda::Device device) {
    const FakeGpu it = gpu(device);
    *value = attribute == 16   ? it.multiprocessor_count
             : attribute == 38 ? it.cache_bytes
             : attribute == 75 ? it.major
             : attribute == 76 ? it.minor
                               : 0;
    return it.cuda_code;
  };
  driver.memory_size = [gpu](std::size_t* bytes, cuda::Device device) {
    *bytes = gpu(device).memory_bytes;
    return gpu(device).cuda_code;
  };
  driver.pci_bus_id = [gpu](char* out, int size, cuda::Device device) {
    Write(gpu(device).pci_bus_id, out, static_cast<std::size_t>(size));
    return gpu(device).cuda_code;
  };
  cuda.AddTo(&driver);
  return driver;
}

Nvml FakeHost::NvmlTable() {
  Nvml out;
  out.init = [this] { return nvml_init_code; };
  out.driver_version = [this](char* text, unsigned size) {
    Write(driver_version, text, size);
    return nvml::kSuccess;
  };
  out.device_count = [this](unsigned* count) {
    *count = static_cast<unsigned>(gpus.size());
    return nvml::kSuccess;
  };
  out.find = [this](const char* uuid, nvml::Device* device) {
    for (auto gpu = gpus.rbegin(); gpu != gpus.rend(); ++gpu) {
      if (uuid != UuidOf(*gpu)) continue;
      *device = HandleOf(&*gpu);
      return gpu->nvml_code;
    }
    return nvml::kNotFound;
  };
  AddLoad(&out);
  AddModes(&out);
  AddHealth(&out);
  AddConditions(&out);
  return out;
}

std::string FakeHost::UuidOf(const FakeGpu& gpu) {
  std::string text = gpu.mig_instance ? "MIG" : "GPU";
  for (const int byte_count : {4, 2, 2, 2, 6}) {
    text += '-';
    for (int i = 0; i < byte_count; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(gpu.identity));
      text += digits;
    }
  }
  return text;
}

}  // namespace sextant
