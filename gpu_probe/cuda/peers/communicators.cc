#include "gpu_probe/cuda/peers/communicators.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant {

absl::Status NcclStatus(Nccl::Status code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  return WithMetadata(absl::InternalError(absl::StrCat(
                          call, " failed with NCCL's error ", code,
                          "; run the probe with NCCL_DEBUG=WARN to see why, and look for Xid in "
                          "the kernel's log")),
                      "reason", "nccl");
}

Communicators::Communicators(const Nccl& nccl, SharedPeerGroup group)
    : nccl_(nccl), group_(std::move(group)), communicators_(group_->size(), nullptr) {}

absl::StatusOr<SharedCommunicators> Communicators::Create(const Nccl& nccl, SharedPeerGroup group) {
  SharedCommunicators made(new Communicators(nccl, std::move(group)));
  std::vector<int> ordinals;
  for (size_t i = 0; i < made->group().size(); ++i) {
    ordinals.push_back(made->group().rank(i).session->gpu().ordinal);
  }
  const Nccl::Status code = nccl.comm_init_all(made->communicators_.data(),
                                               static_cast<int>(ordinals.size()), ordinals.data());
  // NCCL may have left another GPU current.
  SEXTANT_RETURN_IF_ERROR(made->group().rank(0).session->MakeCurrent());
  if (code == 0) return made;
  return absl::UnimplementedError(
      absl::StrCat("NCCL ", nccl.version, " can't be started among this host's GPUs (",
                   NcclStatus(code, "ncclCommInitAll").message(),
                   "); containers need shared memory, e.g. --shm-size=1g"));
}

Communicators::~Communicators() {
  for (void* const communicator : communicators_) {
    if (communicator != nullptr) (void)nccl_.comm_abort(communicator);
  }
  (void)group_->rank(0).session->MakeCurrent();
}

}  // namespace sextant
