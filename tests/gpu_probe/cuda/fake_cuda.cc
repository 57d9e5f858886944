#include "tests/gpu_probe/cuda/fake_cuda.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "gpu_probe/cuda/kernels.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {
namespace {

constexpr int kOutOfMemory = 2;
constexpr int kInvalidValue = 1;
constexpr double kUsualKernelSeconds = 5e-6;
constexpr std::size_t kBackedBytes = std::size_t{1} << 20;
constexpr cuda::Address kAlignment = 512;

// Names of functions that were found, which their handles point to.
const std::string* NameOf(cuda::Function function) {
  return static_cast<const std::string*>(function);
}

cuda::Function FunctionNamed(const char* name) {
  static std::set<std::string>* const names = new std::set<std::string>;
  return const_cast<std::string*>(&*names->insert(name).first);
}

struct Event {
  double seconds = 0;
};

struct Recording {
  std::vector<FakeWork> work;
};

}  // namespace

FakeCuda::FakeCuda(FakeHost& host) : host_(host) {}

void FakeCuda::AddTo(CudaDriver* driver) {
  AddContexts(driver);
  AddMemory(driver);
  AddCopies(driver);
  AddStreams(driver);
  AddLaunches(driver);
  AddGraphs(driver);
}

FakeGpu& FakeCuda::GpuOf(cuda::Stream stream) { return *static_cast<Stream*>(stream)->gpu; }

cuda::Result FakeCuda::Queue(cuda::Stream stream, const FakeWork& work) {
  auto* const it = static_cast<Stream*>(stream);
  if (!it->recording) return work();
  it->recorded.push_back(work);
  return 0;
}

cuda::Result FakeCuda::Spend(cuda::Stream stream, double seconds) {
  FakeGpu& gpu = GpuOf(stream);
  if (gpu.cuda_code != 0) return gpu.cuda_code;
  host_.Sleep(seconds * gpu.slowness);
  return gpu.cuda_code;
}

void* FakeCuda::Memory(cuda::Address address) {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const cuda::Address offset = address - block->first;
  if (offset >= block->second.bytes.size()) return nullptr;
  return block->second.bytes.data() + offset;
}

void FakeCuda::AddContexts(CudaDriver* driver) {
  driver->retain_context = [this](cuda::Context* context, cuda::Device device) {
    FakeGpu& gpu = host_.gpus[static_cast<std::size_t>(device)];
    *context = &gpu;
    // Listed until it ends: libraries go on holding the context.
    const auto own_id = static_cast<unsigned>(getpid());
    std::vector<unsigned>& ids = gpu.process_ids;
    if (std::find(ids.begin(), ids.end(), own_id) == ids.end()) ids.push_back(own_id);
    return gpu.cuda_code;
  };
  driver->release_context = [](cuda::Device) { return 0; };
  driver->set_context = [this](cuda::Context context) {
    current_ = static_cast<FakeGpu*>(context);
    return current_->cuda_code;
  };
  driver->can_access_peer = [this](int* can, cuda::Device of, cuda::Device peer) {
    const auto& gpus = host_.gpus;
    *can = gpus[static_cast<std::size_t>(of)].peer_bytes_per_second > 0 &&
                   gpus[static_cast<std::size_t>(peer)].peer_bytes_per_second > 0
               ? 1
               : 0;
    return 0;
  };
  driver->enable_peer = [](cuda::Context, unsigned) { return 0; };
}

void FakeCuda::AddMemory(CudaDriver* driver) {
  driver->allocate = [this](cuda::Address* address, std::size_t size_bytes) {
    if (current_->cuda_code != 0) return current_->cuda_code;
    if (size_bytes > current_->memory.free) return kOutOfMemory;
    current_->Take(size_bytes);
    *address = next_address_;
    next_address_ += (size_bytes / kAlignment + 1) * kAlignment;
    Block block = {.size_bytes = size_bytes, .bytes = {}};
    if (size_bytes <= kBackedBytes) block.bytes.resize(size_bytes);
    blocks_.emplace(*address, std::move(block));
    allocated_bytes_ += static_cast<int64_t>(size_bytes);
    return 0;
  };
  driver->free = [this](cuda::Address address) {
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return kInvalidValue;
    const std::size_t size_bytes = block->second.size_bytes;
    current_->memory.free += size_bytes;
    current_->memory.used -= size_bytes;
    allocated_bytes_ -= static_cast<int64_t>(size_bytes);
    blocks_.erase(block);
    return current_->cuda_code;
  };
  driver->pin_host = [this](void** memory, std::size_t size_bytes, unsigned) {
    *memory = ::operator new(size_bytes);
    ++live_object_count_;
    return 0;
  };
  driver->free_host = [this](void* memory) {
    ::operator delete(memory);
    --live_object_count_;
    return 0;
  };
}

void FakeCuda::CopyBytes(void* to, const void* from, std::size_t size_bytes) const {
  if (to == nullptr || size_bytes > kBackedBytes) return;
  if (from == nullptr) {
    std::memset(to, 0, size_bytes);
  } else {
    std::memcpy(to, from, size_bytes);
  }
}

void FakeCuda::AddCopies(CudaDriver* driver) {
  const auto seconds = [](std::size_t size_bytes, double bytes_per_second) {
    return 2e-6 + static_cast<double>(size_bytes) / bytes_per_second;
  };
  driver->to_device = [=, this](cuda::Address to, const void* from, std::size_t size_bytes,
                                cuda::Stream stream) {
    return Queue(stream, [=, this] {
      CopyBytes(Memory(to), from, size_bytes);
      return Spend(stream, seconds(size_bytes, GpuOf(stream).host_bytes_per_second));
    });
  };
  driver->to_host = [=, this](void* to, cuda::Address from, std::size_t size_bytes,
                              cuda::Stream stream) {
    return Queue(stream, [=, this] {
      CopyBytes(to, Memory(from), size_bytes);
      return Spend(stream, seconds(size_bytes, GpuOf(stream).host_bytes_per_second));
    });
  };
  driver->to_peer = [=, this](cuda::Address to, cuda::Context to_context, cuda::Address from,
                              cuda::Context from_context, std::size_t size_bytes,
                              cuda::Stream stream) {
    return Queue(stream, [=, this] {
      const auto& a = *static_cast<FakeGpu*>(to_context);
      const auto& b = *static_cast<FakeGpu*>(from_context);
      CopyBytes(Memory(to), Memory(from), size_bytes);
      const double direct = std::min(a.peer_bytes_per_second, b.peer_bytes_per_second);
      const double rate = direct > 0 ? direct : a.host_bytes_per_second / 2;
      const double slowness = std::max(a.slowness, b.slowness) / GpuOf(stream).slowness;
      return Spend(stream, slowness * seconds(size_bytes, rate));
    });
  };
  driver->fill_bytes = [=, this](cuda::Address to, unsigned char byte, std::size_t size_bytes,
                                 cuda::Stream stream) {
    return Queue(stream, [=, this] {
      if (void* const memory = Memory(to); memory != nullptr) {
        std::memset(memory, byte, size_bytes);
      }
      return Spend(stream, seconds(size_bytes, GpuOf(stream).memory_bytes_per_second));
    });
  };
}

void FakeCuda::AddStreams(CudaDriver* driver) {
  driver->make_stream = [this](cuda::Stream* stream, unsigned) {
    *stream = new Stream{.gpu = current_, .recording = false, .recorded = {}};
    ++live_object_count_;
    return current_->cuda_code;
  };
  driver->drop_stream = [this](cuda::Stream stream) {
    delete static_cast<Stream*>(stream);
    --live_object_count_;
    return 0;
  };
  driver->wait_stream = [this](cuda::Stream stream) { return GpuOf(stream).cuda_code; };
  driver->make_event = [this](cuda::Event* event, unsigned) {
    *event = new Event;
    ++live_object_count_;
    return current_->cuda_code;
  };
  driver->drop_event = [this](cuda::Event event) {
    delete static_cast<Event*>(event);
    --live_object_count_;
    return 0;
  };
  driver->record_event = [this](cuda::Event event, cuda::Stream stream) {
    static_cast<Event*>(event)->seconds = host_.slept_seconds();
    return GpuOf(stream).cuda_code;
  };
  driver->wait_event = [this](cuda::Event) { return current_->cuda_code; };
  driver->elapsed = [this](float* milliseconds, cuda::Event from, cuda::Event to) {
    *milliseconds = static_cast<float>(
        (static_cast<Event*>(to)->seconds - static_cast<Event*>(from)->seconds) * 1e3);
    return current_->cuda_code;
  };
}

cuda::Result FakeCuda::Launch(const std::string& kernel, FakeGpu& gpu, double thread_count,
                              void** arguments) {
  ++launch_count_;
  if (gpu.on_launch) gpu.on_launch(kernel);
  if (gpu.cuda_code != 0) return gpu.cuda_code;
  double seconds = kUsualKernelSeconds;
  if (const auto known = kernels.find(kernel); known != kernels.end()) {
    seconds = known->second(gpu, thread_count, arguments);
  }
  if (kernel.compare(0, 6, "check_") == 0 && gpu.wrong_kernels.count(kernel) > 0) {
    const GpuCheckReport wrong = {.wrong_count = 1, .first_wrong = 7};
    CopyBytes(Memory(*static_cast<cuda::Address*>(arguments[0])), &wrong, sizeof(wrong));
  }
  host_.Sleep(seconds * gpu.slowness);
  return gpu.cuda_code;
}

void FakeCuda::AddLaunches(CudaDriver* driver) {
  driver->load_module = [this](cuda::Module* module, const void*) {
    *module = new int(0);
    ++live_object_count_;
    return current_->cuda_code;
  };
  driver->unload_module = [this](cuda::Module module) {
    delete static_cast<int*>(module);
    --live_object_count_;
    return 0;
  };
  driver->find_function = [this](cuda::Function* function, cuda::Module, const char* name) {
    *function = FunctionNamed(name);
    return current_->cuda_code;
  };
  driver->launch = [this](cuda::Function function, unsigned x, unsigned y, unsigned z,
                          unsigned threads, unsigned, unsigned, unsigned, cuda::Stream stream,
                          void** arguments, void**) {
    const std::string& kernel = *NameOf(function);
    const double thread_count = static_cast<double>(x) * y * z * threads;
    if (!static_cast<Stream*>(stream)->recording) {
      return Launch(kernel, GpuOf(stream), thread_count, arguments);
    }
    // A recording keeps no arguments, since their number is not known: its kernels take the time of
    // their first launch, measured now.
    const double before_seconds = host_.slept_seconds();
    const cuda::Result code = Launch(kernel, GpuOf(stream), thread_count, arguments);
    const double seconds = (host_.slept_seconds() - before_seconds) / GpuOf(stream).slowness;
    return code != 0 ? code : Queue(stream, [=, this] { return Spend(stream, seconds); });
  };
}

void FakeCuda::AddGraphs(CudaDriver* driver) {
  driver->begin_capture = [](cuda::Stream stream, int) {
    static_cast<Stream*>(stream)->recording = true;
    return 0;
  };
  driver->end_capture = [this](cuda::Stream stream, cuda::Graph* graph) {
    auto* const it = static_cast<Stream*>(stream);
    it->recording = false;
    *graph = new Recording{std::exchange(it->recorded, {})};
    ++live_object_count_;
    return it->gpu->cuda_code;
  };
  driver->make_graph_run = [this](cuda::GraphRun* run, cuda::Graph graph, unsigned long long) {
    *run = new Recording(*static_cast<Recording*>(graph));
    ++live_object_count_;
    return current_->cuda_code;
  };
  driver->launch_graph = [](cuda::GraphRun run, cuda::Stream) {
    for (const FakeWork& work : static_cast<Recording*>(run)->work) {
      if (const cuda::Result code = work(); code != 0) return code;
    }
    return 0;
  };
  const auto drop = [this](void* recording) {
    delete static_cast<Recording*>(recording);
    --live_object_count_;
    return 0;
  };
  driver->drop_graph_run = drop;
  driver->drop_graph = drop;
}

}  // namespace sextant::probe
