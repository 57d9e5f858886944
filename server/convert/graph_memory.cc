#include "server/convert/graph_memory.h"

#include "server/convert/operation_cost.h"

namespace sextant {
namespace {

static_assert(static_cast<int>(StorageKind::kParameterGradient) + 1 ==
              v1::STORAGE_KIND_PARAMETER_GRADIENT);

void StorageTo(const GraphStorage& storage, v1::GraphStorage* out) {
  out->set_name(storage.name);
  out->set_kind(static_cast<v1::StorageKind>(static_cast<int>(storage.kind) + 1));
  out->set_size_bytes(storage.size.value());
}

}  // namespace

void GraphMemoryTo(const GraphMemory& memory, v1::GraphMemory* out) {
  for (const SavedStorage& saved : memory.saved) {
    v1::SavedStorage* to = out->add_saved();
    StorageTo(saved.storage, to->mutable_storage());
    for (const SavedBy& by : saved.by) {
      v1::SavedStorage::Reader* reader = to->add_readers();
      reader->set_operation(by.operation);
      reader->set_reason(by.reason);
    }
  }
  out->set_saved_bytes(memory.saved_bytes.value());
  out->set_peak_bytes(memory.peak_bytes.value());
  out->set_peak_moment(memory.peak_moment);
  for (const GraphStorage& storage : memory.at_peak) StorageTo(storage, out->add_at_peak());
  CostSumTo(memory.recompute, out->mutable_recompute());
  out->set_recomputed_operations(memory.recomputed_operations);
}

}  // namespace sextant
