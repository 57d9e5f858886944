// NCCL among the GPUs of a fake host: exchanges move no bytes, and take the time given by the GPUs'
// links.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_NCCL_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_NCCL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/cuda/cuda_libraries.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {

class FakeNccl {
 public:
  explicit FakeNccl(FakeHost& host) : host_(host) {}

  // Must outlive the table.
  Nccl Table();

  int init_code = 0;
  int call_code = 0;  // the status of exchanges
  std::map<std::string, int> call_counts;
  int live_communicator_count = 0;

 private:
  // One rank's part of the open group.
  struct Call {
    double link_bytes;
    void* stream;
  };
  int Add(const std::string& name, double link_bytes, void* stream);
  int EndGroup();

  FakeHost& host_;
  int rank_count_ = 0;
  bool group_open_ = false;
  std::vector<Call> calls_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_NCCL_H_
