#include "tests/gpu_probe/cuda/fake_host.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sextant::probe {
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

// NVML has a list of processes, and tells its length where there is no room for it.
std::function<nvml::Return(nvml::Device, unsigned*, nvml::ProcessInfo*)> List(
    std::vector<unsigned> FakeGpu::*ids) {
  return [ids](nvml::Device device, unsigned* count, nvml::ProcessInfo* entries) {
    FakeGpu& gpu = *reinterpret_cast<FakeGpu*>(device);
    if (gpu.on_question) gpu.on_question();
    if (gpu.nvml_code != nvml::kSuccess) return gpu.nvml_code;
    const std::vector<unsigned>& listed = gpu.*ids;
    const bool room = *count >= listed.size();
    *count = static_cast<unsigned>(listed.size());
    if (!room) return nvml::kInsufficientSize;
    for (std::size_t i = 0; i < listed.size(); ++i) entries[i] = {.pid = listed[i]};
    return nvml::kSuccess;
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
  out->processes = List(&FakeGpu::process_ids);
  out->mps_processes = List(&FakeGpu::mps_process_ids);
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

// One number, where it is reported.
auto Number(unsigned FakeGpu::*member) {
  return About([member](const FakeGpu& gpu, unsigned* out) { *out = gpu.*member; });
}

void AddSettings(Nvml* out) {
  out->default_power_limit = Number(&FakeGpu::default_milliwatts);
  out->pcie_generation = Number(&FakeGpu::pcie_generation);
  out->pcie_width = Number(&FakeGpu::pcie_width);
  out->maximum_pcie_generation = About([](const FakeGpu&, unsigned* value) { *value = 5; });
  out->maximum_pcie_width = About([](const FakeGpu&, unsigned* value) { *value = 16; });
  out->persistence = About([](const FakeGpu& gpu, int* mode) { *mode = gpu.persistence; });
  out->application_clock = About([](const FakeGpu& gpu, int type, unsigned* megahertz) {
    *megahertz = type == 1   ? gpu.application_sm_megahertz
                 : type == 2 ? gpu.application_memory_megahertz
                             : 0;
  });
  out->nvlink_state = [](nvml::Device device, unsigned link, int* state) {
    const FakeGpu& gpu = *reinterpret_cast<FakeGpu*>(device);
    if (link >= gpu.nvlinks.size()) return nvml::kNotFound;
    *state = gpu.nvlinks[link];
    return gpu.nvml_code;
  };
}

}  // namespace

FakeHost::FakeHost(int gpu_count) {
  for (int i = 1; i <= gpu_count; ++i) {
    gpus.push_back({.identity = static_cast<unsigned char>(i)});
    char address[32];
    std::snprintf(address, sizeof(address), "0000:%02x:00.0", 0x18 + i);
    gpus.back().pci_bus_id = address;
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
  driver.init = [this](unsigned) {
    ++cuda_init_count;
    const char* const named = std::getenv("CUDA_VISIBLE_DEVICES");
    visible_.clear();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const bool hidden =
          named != nullptr && std::strncmp(named, "GPU-", 4) == 0 && UuidOf(gpus[i]) != named;
      if (!hidden) visible_.push_back(static_cast<int>(i));
    }
    return cuda_init_code;
  };
  driver.driver_version = [this](int* version) {
    *version = cuda_version;
    return 0;
  };
  driver.device_count = [this](int* count) {
    *count = static_cast<int>(visible_.size());
    return 0;
  };
  driver.device = [this](cuda::Device* device, int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= visible_.size()) return kInvalidDevice;
    *device = visible_[static_cast<std::size_t>(index)];
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
  AddIdentities(&out);
  AddLoad(&out);
  AddModes(&out);
  AddHealth(&out);
  AddConditions(&out);
  AddSettings(&out);
  return out;
}

void FakeHost::AddIdentities(Nvml* out) {
  out->device = [this](unsigned index, nvml::Device* device) {
    if (index >= gpus.size()) return nvml::kNotFound;
    *device = HandleOf(&gpus[gpus.size() - 1 - index]);
    return nvml::kSuccess;
  };
  out->uuid =
      About([](const FakeGpu& gpu, char* text, unsigned size) { Write(UuidOf(gpu), text, size); });
  out->pci_info = About([](const FakeGpu& gpu, nvml::PciInfo* pci) {
    (void)std::sscanf(gpu.pci_bus_id.c_str(), "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
  });
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

}  // namespace sextant::probe
