// libcudnn.so.9 of a fake host, under the library's own names.
#include "tests/gpu_probe/cuda/fake_cudnn.h"
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
namespace {

const Cudnn& ScriptedCudnn() {
  static const Cudnn* const cudnn = new Cudnn((new FakeCudnn(ScriptedHost()))->Table());
  return *cudnn;
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::ScriptedCudnn;

extern "C" {
std::size_t cudnnGetVersion() { return ScriptedCudnn().version_number; }
void cudnnGetLastErrorString(char* text, std::size_t size) {
  ScriptedCudnn().last_error(text, size);
}
int cudnnCreate(void** handle) { return ScriptedCudnn().create(handle); }
int cudnnDestroy(void* handle) { return ScriptedCudnn().destroy(handle); }
int cudnnSetStream(void* handle, void* stream) {
  return ScriptedCudnn().set_stream(handle, stream);
}
int cudnnBackendCreateDescriptor(int kind, void** object) {
  return ScriptedCudnn().descriptor_create(kind, object);
}
int cudnnBackendDestroyDescriptor(void* object) {
  return ScriptedCudnn().descriptor_destroy(object);
}
int cudnnBackendSetAttribute(void* object, int attribute, int type, std::int64_t count,
                             const void* elements) {
  return ScriptedCudnn().descriptor_set(object, attribute, type, count, elements);
}
int cudnnBackendGetAttribute(void* object, int attribute, int type, std::int64_t room,
                             std::int64_t* count, void* elements) {
  return ScriptedCudnn().descriptor_get(object, attribute, type, room, count, elements);
}
int cudnnBackendFinalize(void* object) { return ScriptedCudnn().descriptor_finalize(object); }
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  return ScriptedCudnn().execute(handle, plan, pack);
}
}
