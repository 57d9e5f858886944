// libnccl.so.2 as a host with GPUs has it, under NCCL's own names. Statuses and types are int.
#include <cstddef>

#include "tests/gpu_probe/cuda/fake_nccl.h"
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
namespace {

const Nccl& ScriptedNccl() {
  static const Nccl* const table = new Nccl((new FakeNccl(ScriptedHost()))->Table());
  return *table;
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::ScriptedNccl;

extern "C" {
int ncclGetVersion(int* version) {
  *version = 22803;
  return 0;
}
int ncclCommInitAll(void** communicators, int count, const int* devices) {
  return ScriptedNccl().comm_init_all(communicators, count, devices);
}
int ncclCommAbort(void* communicator) { return ScriptedNccl().comm_abort(communicator); }
int ncclGroupStart() { return ScriptedNccl().group_start(); }
int ncclGroupEnd() { return ScriptedNccl().group_end(); }
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation,
                  void* communicator, void* stream) {
  return ScriptedNccl().all_reduce(from, to, count, type, operation, communicator, stream);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int operation,
                      void* communicator, void* stream) {
  return ScriptedNccl().reduce_scatter(from, to, count, type, operation, communicator, stream);
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* communicator,
                  void* stream) {
  return ScriptedNccl().all_gather(from, to, count, type, communicator, stream);
}
int ncclSend(const void* from, std::size_t count, int type, int peer, void* communicator,
             void* stream) {
  return ScriptedNccl().send(from, count, type, peer, communicator, stream);
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void* communicator, void* stream) {
  return ScriptedNccl().receive(to, count, type, peer, communicator, stream);
}
}
