#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "server/gpu_activity/activity_monitor.h"
#include "server/gpu_activity/gpm_library.h"
#include "tests/server/fake_probe.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr gpm::Return kNotSupported = 3;
constexpr gpm::Return kNoPermission = 4;
constexpr gpm::Return kGpuIsLost = 15;

struct FakeWatchedGpu {
  std::string uuid;
  gpm::Return code = gpm::kSuccess;  // NVML's answer to every query
  gpm::Return sample_code = gpm::kSuccess;
  gpm::Return mig_code = gpm::kSuccess;
  unsigned mig_mode = 0;
  unsigned is_supported = 1;
  // By nvmlGpmMetricId_t, in per cent; a missing metric fails with kNotSupported.
  std::map<unsigned, double> percents = {{2, 75}, {5, 50}, {10, 25}};
  gpm::Memory memory = {};
};

// A fake of NVML's performance monitoring with scripted GPUs. It must outlive its library's use.
class FakeGpm {
 public:
  std::deque<FakeWatchedGpu> gpus;
  gpm::Return init_code = gpm::kSuccess;
  gpm::Return metrics_code = gpm::kSuccess;
  std::function<void()> on_look = {};  // when the GPUs are counted
  std::atomic<int> init_count = 0;
  std::atomic<int> live_sample_count = 0;  // allocated and not freed

  GpmLibrary Library() {
    GpmLibrary out;
    out.init = [this] {
      ++init_count;
      return init_code;
    };
    out.gpu_count = [this](unsigned* count) {
      if (on_look) on_look();
      *count = static_cast<unsigned>(gpus.size());
      return gpm::kSuccess;
    };
    out.gpu = [this](unsigned index, gpm::Gpu* gpu) {
      *gpu = reinterpret_cast<gpm::Gpu>(&gpus[index]);
      return gpus[index].code;
    };
    out.uuid = [](gpm::Gpu gpu, char* text, unsigned size) {
      std::snprintf(text, size, "%s", Of(gpu).uuid.c_str());
      return Of(gpu).code;
    };
    out.mig = [](gpm::Gpu gpu, unsigned* now, unsigned* after_reset) {
      *now = Of(gpu).mig_mode;
      *after_reset = 0;
      return Of(gpu).mig_code;
    };
    out.support = [](gpm::Gpu gpu, gpm::Support* support) {
      if (support->version == 1) support->is_supported = Of(gpu).is_supported;
      return Of(gpu).code;
    };
    out.allocate = [this](gpm::Sample* sample) {
      ++live_sample_count;
      *sample = reinterpret_cast<gpm::Sample>(new FakeWatchedGpu*(nullptr));
      return gpm::kSuccess;
    };
    out.free = [this](gpm::Sample sample) {
      --live_sample_count;
      delete reinterpret_cast<FakeWatchedGpu**>(sample);
      return gpm::kSuccess;
    };
    out.sample = [](gpm::Gpu gpu, gpm::Sample sample) {
      *reinterpret_cast<FakeWatchedGpu**>(sample) = &Of(gpu);
      return Of(gpu).sample_code;
    };
    out.metrics = [this](gpm::MetricsRequest* request) { return Answer(request); };
    return out;
  }

  // The same of a driver that says who holds memory.
  GpmLibrary LibraryWithMemory() {
    GpmLibrary out = Library();
    out.memory = [](gpm::Gpu gpu, gpm::Memory* memory) {
      if (memory->version != ((2u << 24) | sizeof(gpm::Memory))) return kNotSupported;
      *memory = Of(gpu).memory;
      return Of(gpu).code;
    };
    return out;
  }

 private:
  static FakeWatchedGpu& Of(gpm::Gpu gpu) { return *reinterpret_cast<FakeWatchedGpu*>(gpu); }

  gpm::Return Answer(gpm::MetricsRequest* request) const {
    const FakeWatchedGpu* const gpu = *reinterpret_cast<FakeWatchedGpu**>(request->later);
    const bool same = *reinterpret_cast<FakeWatchedGpu**>(request->earlier) == gpu;
    if (request->version != 1 || !same || request->earlier == request->later) return 2;
    for (unsigned i = 0; i < request->metric_count; ++i) {
      const auto found = gpu->percents.find(request->metrics[i].id);
      request->metrics[i].code = found == gpu->percents.end() ? kNotSupported : gpm::kSuccess;
      if (found != gpu->percents.end()) request->metrics[i].value = found->second;
    }
    return metrics_code;
  }
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The activity after two samples.
std::vector<GpuActivity> SeenOf(FakeGpm& gpm) {
  ActivitySampler sampler(gpm.Library());
  EXPECT_THAT(sampler.Look(), IsEmpty()) << "one look is not an average";
  return sampler.Look();
}

TEST(ActivitySampler, TellsAveragesBetweenTwoLooks) {
  FakeGpm gpm;
  gpm.gpus = {{.uuid = "GPU-1"}, {.uuid = "GPU-2", .percents = {{5, 0}, {10, 100}, {2, 12.5}}}};
  const std::vector<GpuActivity> seen = SeenOf(gpm);
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[0].uuid, "GPU-1");
  EXPECT_EQ(seen[0].tensor, 0.5);
  EXPECT_EQ(seen[0].memory, 0.25);
  EXPECT_EQ(seen[0].sm, 0.75);
  EXPECT_EQ(seen[1].tensor, 0.0) << "idle, and reported so";
  EXPECT_EQ(seen[1].memory, 1.0);
  EXPECT_EQ(seen[1].sm, 0.125);
  EXPECT_EQ(gpm.live_sample_count, 0);
}

TEST(ActivitySampler, LeavesOutWhoDoesNotTell) {
  const FakeWatchedGpu unwatchable[] = {{.uuid = "GPU-lost", .code = kGpuIsLost},
                                        {.uuid = "GPU-old", .is_supported = 0},
                                        {.uuid = "GPU-forbidden", .sample_code = kNoPermission},
                                        {.uuid = "GPU-cut", .mig_mode = 1},
                                        {.uuid = ""}};
  for (const FakeWatchedGpu& gpu : unwatchable) {
    FakeGpm gpm;
    gpm.gpus = {gpu, {.uuid = "GPU-well"}};
    const std::vector<GpuActivity> seen = SeenOf(gpm);
    ASSERT_THAT(seen, SizeIs(1)) << gpu.uuid;
    EXPECT_EQ(seen[0].uuid, "GPU-well");
    EXPECT_EQ(gpm.live_sample_count, 0) << gpu.uuid;
  }
}

// At the first look, and of chips without performance monitoring; without the driver's own part.
TEST(ActivitySampler, TellsHowMuchMemoryProcessesHold) {
  FakeGpm gpm;
  const gpm::Memory held = {.total = 100, .reserved = 5, .free = 35, .used = 65};
  gpm.gpus = {{.uuid = "GPU-old", .is_supported = 0, .memory = held},
              {.uuid = "GPU-cut", .mig_mode = 1, .memory = held},
              {.uuid = "GPU-mad", .memory = {.total = 100, .reserved = 60, .free = 50}}};
  ActivitySampler sampler(gpm.LibraryWithMemory());
  const std::vector<GpuActivity> first = sampler.Look();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].uuid, "GPU-old");
  EXPECT_EQ(first[0].taken_bytes, 60);
  const std::vector<GpuActivity> second = sampler.Look();
  ASSERT_THAT(second, SizeIs(2));
  EXPECT_EQ(second[0].taken_bytes, 60);
  EXPECT_FALSE(second[0].sm.has_value());
  EXPECT_EQ(second[1].uuid, "GPU-mad");
  EXPECT_FALSE(second[1].taken_bytes.has_value());
  EXPECT_TRUE(second[1].sm.has_value());
}

TEST(ActivitySampler, WatchesChipsThatKnowNoInstances) {
  FakeGpm gpm;
  gpm.gpus = {{.uuid = "GPU-1", .mig_code = kNotSupported, .mig_mode = 1}};
  EXPECT_THAT(SeenOf(gpm), SizeIs(1));
}

TEST(ActivitySampler, TellsNothingForGarbage) {
  for (const double percent : {kNan, -1.0, -0.001, 100.5, 1e300, -1e300}) {
    FakeGpm gpm;
    gpm.gpus = {{.uuid = "GPU-1", .percents = {{5, percent}, {2, 40}}}};
    const std::vector<GpuActivity> seen = SeenOf(gpm);
    ASSERT_THAT(seen, SizeIs(1));
    EXPECT_FALSE(seen[0].tensor.has_value()) << percent;
    EXPECT_FALSE(seen[0].memory.has_value()) << "it has no such metric";
    EXPECT_EQ(seen[0].sm, 0.4);
  }
  FakeGpm failing;
  failing.gpus = {{.uuid = "GPU-1"}};
  failing.metrics_code = 999;
  const std::vector<GpuActivity> seen = SeenOf(failing);
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_FALSE(seen[0].tensor.has_value() || seen[0].memory.has_value() || seen[0].sm.has_value());
}

// Its first average afterwards does not cover the time without samples.
TEST(ActivitySampler, ForgetsAGpuThatVanishesAndComesBack) {
  FakeGpm gpm;
  gpm.gpus = {{.uuid = "GPU-1"}, {.uuid = "GPU-2"}};
  ActivitySampler sampler(gpm.Library());
  sampler.Look();
  EXPECT_THAT(sampler.Look(), SizeIs(2));
  gpm.gpus[0].code = kGpuIsLost;
  EXPECT_THAT(sampler.Look(), SizeIs(1));
  EXPECT_EQ(gpm.live_sample_count, 1);
  gpm.gpus[0].code = gpm::kSuccess;
  EXPECT_THAT(sampler.Look(), SizeIs(1));
  EXPECT_THAT(sampler.Look(), SizeIs(2));
}

// Blocks threads until opened, and counts those that arrive.
class Gate {
 public:
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void AwaitArrivals(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

ActivityMonitorOptions Watching(FakeGpm& gpm, std::atomic<int>* now_milliseconds) {
  return {.period = std::chrono::milliseconds(1),
          .load = [&gpm] { return gpm.Library(); },
          .now =
              [now_milliseconds] {
                return std::chrono::steady_clock::time_point(
                    std::chrono::milliseconds(now_milliseconds->load()));
              }};
}

TEST(ActivityMonitor, ShowsWhatWasSeenUntilItIsStale) {
  FakeGpm gpm;
  gpm.gpus = {{.uuid = "GPU-1"}};
  Gate gate;
  gate.Open();
  Gate third;
  int looks = 0;
  gpm.on_look = [&] {
    gate.Pass();
    if (++looks == 3) third.Pass();  // NVML hangs
  };
  std::atomic<int> now_milliseconds = 1000;
  const ActivityMonitor monitor(Watching(gpm, &now_milliseconds));
  third.AwaitArrivals(1);
  EXPECT_THAT(monitor.Latest(), SizeIs(1)) << "while NVML hangs nobody else does";
  now_milliseconds += 3;
  EXPECT_THAT(monitor.Latest(), SizeIs(1));
  now_milliseconds += 1;
  EXPECT_THAT(monitor.Latest(), IsEmpty());
  third.Open();
  gate.AwaitArrivals(5);
  EXPECT_THAT(monitor.Latest(), SizeIs(1)) << "NVML is back";
}

TEST(ActivityMonitor, LeavesAThreadBehindThatNvmlKeeps) {
  // Never freed: the abandoned thread still uses them.
  static auto* const gpm = new FakeGpm;
  static auto* const never = new Gate;
  static auto* const now_milliseconds = new std::atomic<int>(0);
  gpm->on_look = [] { never->Pass(); };
  {
    const ActivityMonitor monitor(Watching(*gpm, now_milliseconds));
    never->AwaitArrivals(1);
  }
  // Released at last, the thread touches nothing that was freed.
  never->Open();
}

TEST(ActivityMonitor, WaitsForADriver) {
  FakeGpm gpm;
  gpm.gpus = {{.uuid = "GPU-1"}};
  Gate looked;
  looked.Open();
  gpm.on_look = [&] { looked.Pass(); };
  std::atomic<int> loads = 0;
  std::atomic<int> now_milliseconds = 0;
  ActivityMonitorOptions options = Watching(gpm, &now_milliseconds);
  options.load = [&]() -> absl::StatusOr<GpmLibrary> {
    const int tries = ++loads;
    if (tries == 1) return absl::NotFoundError("there is no such library");
    GpmLibrary library = gpm.Library();
    if (tries == 2) library.init = [] { return 9; };  // the driver is not loaded
    return library;
  };
  const ActivityMonitor monitor(std::move(options));
  looked.AwaitArrivals(3);
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(gpm.init_count, 1);
  EXPECT_THAT(monitor.Latest(), SizeIs(1));
}

TEST(ActivityMonitor, CallsNothingWhereNothingIsWatched) {
  std::atomic<int> loads = 0;
  {
    const ActivityMonitor monitor(
        {.period = std::chrono::milliseconds(0), .load = [&]() -> absl::StatusOr<GpmLibrary> {
           ++loads;
           return absl::NotFoundError("");
         }});
    EXPECT_THAT(monitor.Latest(), IsEmpty());
  }
  EXPECT_EQ(loads, 0);
}

std::string ScrapeOf(const CalibrationStore& store, std::vector<GpuActivity> seen) {
  const ActivityMetrics metrics(store, [&] { return seen; });
  return prometheus::TextSerializer().Serialize(metrics.Collect());
}

TEST(ActivityMetrics, CarryTheLabelsOfAllOtherSeries) {
  v1::Device gpu = FakeDevice();
  gpu.set_uuid("GPU-1");
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H200");
  gpu.set_pci_bus_id("0000:19:00.0");
  v1::Device second = gpu;
  second.set_uuid("GPU-2");
  CalibrationStore store("");
  store.SetDevices({FakeDevice(), gpu, second});
  const std::string text =
      ScrapeOf(store, {{.uuid = "GPU-2", .tensor = 0.5, .memory = 0.25, .sm = 0.0},
                       {.uuid = "GPU-1", .sm = 1.0, .taken_bytes = 4096},
                       {.uuid = "GPU-other", .tensor = 0.125}});
  const std::string rest =
      "pci_bus_id=\"0000:19:00.0\",modelName=\"NVIDIA H200\",hostname=\"node1\"} ";
  for (const std::string& line :
       {"sextant_gpu_tensor_active_ratio{UUID=\"GPU-2\",gpu=\"1\"," + rest + "0.5\n",
        "sextant_gpu_memory_active_ratio{UUID=\"GPU-2\",gpu=\"1\"," + rest + "0.25\n",
        "sextant_gpu_sm_active_ratio{UUID=\"GPU-1\",gpu=\"0\"," + rest + "1\n",
        "sextant_gpu_memory_taken_bytes{UUID=\"GPU-1\",gpu=\"0\"," + rest + "4096\n",
        "sextant_gpu_sm_active_ratio{UUID=\"GPU-2\",gpu=\"1\"," + rest + "0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 * 2 + 5) << text;
  EXPECT_EQ(ScrapeOf(store, {}), "");
}

}  // namespace
}  // namespace sextant::server
