#include "gpu_probe/cuda/memory/multiprocessors.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/kernels.h"

namespace sextant::probe {
namespace {

constexpr unsigned char kHashPoison = 0xFF;
constexpr uint32_t kNoMultiprocessor = 0xFFFFFFFF;  // the number that the poison gives
constexpr int64_t kWordBytes = sizeof(uint32_t);

using BlockHashes = std::array<uint32_t, kHashThreadCount>;

BlockHashes ExpectedHashes() {
  BlockHashes hashes;
  for (uint32_t thread = 0; thread < kHashThreadCount; ++thread) {
    hashes[thread] = MultiprocessorHash(thread, kHashStepCount);
  }
  return hashes;
}

// The host's hashes, computed once.
const BlockHashes& HashesOfBlock() {
  static const BlockHashes hashes = ExpectedHashes();
  return hashes;
}

class MultiprocessorWorkload : public GpuWorkload {
 public:
  MultiprocessorWorkload(MultiprocessorRun run, std::shared_ptr<int64_t> seen,
                         const SharedSession& session)
      : GpuWorkload(session, HostPart::kQueues), run_(std::move(run)), seen_(std::move(seen)) {}

  void Poison() override { poisoned_ = run_.Poison(session()); }
  absl::Status Check() override {
    SEXTANT_RETURN_IF_ERROR(poisoned_);
    SEXTANT_ASSIGN_OR_RETURN(const int64_t count, run_.Check(session()));
    *seen_ = std::max(*seen_, count);
    return absl::OkStatus();
  }

 private:
  absl::Status Enqueue() override { return run_.Enqueue(session()); }

  const MultiprocessorRun run_;
  const std::shared_ptr<int64_t> seen_;  // the most multiprocessors seen in one run
  absl::Status poisoned_;
};

absl::StatusOr<std::unique_ptr<Workload>> MakeMultiprocessors(std::shared_ptr<int64_t> seen,
                                                              const SharedSession& session) {
  SEXTANT_ASSIGN_OR_RETURN(MultiprocessorRun run, MultiprocessorRun::Create(session));
  return std::make_unique<MultiprocessorWorkload>(std::move(run), std::move(seen), session);
}

}  // namespace

std::vector<Point> MultiprocessorPoints(const SharedSession& session) {
  const auto seen = std::make_shared<int64_t>(0);
  const int64_t count = session->multiprocessor_count();
  Point point;
  point.phase = "multiprocessor";
  point.label = absl::StrCat("the same hashes on ", count, " multiprocessors");
  point.work = static_cast<double>(count * kHashBlocksOfMultiprocessor * kHashThreadCount);
  point.unit = "hashes/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=] { return MakeMultiprocessors(seen, session); };
  point.record = [=](const v1::TimeStatistics&, v1::Calibration* out) {
    if (*seen >= count) return;
    out->add_notes(absl::StrFormat(
        "The arithmetic of %d of %d multiprocessors was compared: no block ran on the others.",
        *seen, count));
  };
  return {point};
}

absl::StatusOr<MultiprocessorRun> MultiprocessorRun::Create(const SharedSession& session) {
  MultiprocessorRun run;
  run.block_count_ =
      kHashBlocksOfMultiprocessor * std::max<int64_t>(1, session->multiprocessor_count());
  SEXTANT_ASSIGN_OR_RETURN(
      run.hashes_,
      DeviceMemory::Allocate(session, run.block_count_ * kHashThreadCount * kWordBytes));
  SEXTANT_ASSIGN_OR_RETURN(run.multiprocessors_,
                           DeviceMemory::Allocate(session, run.block_count_ * kWordBytes));
  return run;
}

absl::Status MultiprocessorRun::Enqueue(GpuSession& session) const {
  return session.Launch(
      "multiprocessor_hash",
      {.block_count = static_cast<unsigned>(block_count_), .thread_count = kHashThreadCount},
      hashes_.address(), multiprocessors_.address(), kHashStepCount);
}

absl::Status MultiprocessorRun::Poison(GpuSession& session) const {
  SEXTANT_RETURN_IF_ERROR(session.Fill(hashes_.address(), kHashPoison, hashes_.size_bytes()));
  return session.Fill(multiprocessors_.address(), kHashPoison, multiprocessors_.size_bytes());
}

absl::StatusOr<int64_t> MultiprocessorRun::Check(GpuSession& session) const {
  std::vector<BlockHashes> hashes(static_cast<size_t>(block_count_));
  std::vector<uint32_t> multiprocessors(static_cast<size_t>(block_count_));
  SEXTANT_RETURN_IF_ERROR(
      session.CopyToHost(hashes.data(), hashes_.address(), hashes_.size_bytes()));
  SEXTANT_RETURN_IF_ERROR(session.CopyToHost(multiprocessors.data(), multiprocessors_.address(),
                                             multiprocessors_.size_bytes()));
  for (size_t block = 0; block < hashes.size(); ++block) {
    const BlockHashes& got = hashes[block];
    const auto wrong = std::mismatch(got.begin(), got.end(), HashesOfBlock().begin());
    if (wrong.first == got.end()) continue;
    if (multiprocessors[block] == kNoMultiprocessor) {
      return absl::DataLossError(absl::StrCat("block ", block, " left no result: drain this GPU"));
    }
    return absl::DataLossError(absl::StrFormat(
        "multiprocessor %u computed %08x in thread %d of block %d, not %08x: drain this GPU",
        multiprocessors[block], *wrong.first, wrong.first - got.begin(), block, *wrong.second));
  }
  return static_cast<int64_t>(
      std::set<uint32_t>(multiprocessors.begin(), multiprocessors.end()).size());
}

}  // namespace sextant::probe
