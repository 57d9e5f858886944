// The order of gRPC's threads, as the thread sanitizer has to see it. Debian's gRPC and Abseil
// are built without its marks: our code, which they call on many threads, would be reported. The
// linker puts the functions __wrap_... in place of theirs (its --wrap).
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

#include <atomic>
#include <cstdint>

#include "absl/base/internal/spinlock_wait.h"
#include "absl/synchronization/mutex.h"

using ::absl::CondVar;
using ::absl::Duration;
using ::absl::Mutex;
using ::absl::Time;

namespace {

// A functor that runs another one once, after all that came before it was made.
struct Ordered : grpc_completion_queue_functor {
  explicit Ordered(grpc_completion_queue_functor* the_inner) : inner(the_inner) {
    functor_run = [](grpc_completion_queue_functor* functor, int ok) {
      auto* const self = static_cast<Ordered*>(functor);
      __tsan_acquire(self);
      grpc_completion_queue_functor* const next = self->inner;
      delete self;
      next->functor_run(next, ok);
    };
    inlineable = inner->inlineable;
    __tsan_release(this);
  }

  grpc_completion_queue_functor* const inner;
};

}  // namespace

extern "C" {

// Copies, frees, reads and writes of files are not looked at: most are gRPC's, whose order is not
// seen. No order comes from bytes on their way: all sockets would count as one.
const char* __tsan_default_options() {
  return "ignore_interceptors_accesses=1 io_sync=0 detect_deadlocks=0";
}

grpc_call_error __real_grpc_call_start_batch(grpc_call*, const grpc_op*, size_t, void*, void*);

// A tag of a callback service is a functor, and nothing else runs in a process of these tests.
grpc_call_error __wrap_grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count,
                                             void* tag, void* reserved) {
  auto* const ordered = new Ordered(static_cast<grpc_completion_queue_functor*>(tag));
  const grpc_call_error error = __real_grpc_call_start_batch(call, ops, count, ordered, reserved);
  if (error != GRPC_CALL_OK) delete ordered;
  return error;
}

void __real__ZN4absl7debian35Mutex4LockEv(Mutex*);
void __real__ZN4absl7debian35Mutex6UnlockEv(Mutex*);
bool __real__ZN4absl7debian35Mutex7TryLockEv(Mutex*);
void __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(CondVar*, Mutex*);
bool __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(CondVar*, Mutex*,
                                                                                 Duration);
bool __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(CondVar*, Mutex*,
                                                                              Time);

void __wrap__ZN4absl7debian35Mutex4LockEv(Mutex* mutex) {
  __real__ZN4absl7debian35Mutex4LockEv(mutex);
  __tsan_acquire(mutex);
}

void __wrap__ZN4absl7debian35Mutex6UnlockEv(Mutex* mutex) {
  __tsan_release(mutex);
  __real__ZN4absl7debian35Mutex6UnlockEv(mutex);
}

bool __wrap__ZN4absl7debian35Mutex7TryLockEv(Mutex* mutex) {
  const bool locked = __real__ZN4absl7debian35Mutex7TryLockEv(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void __wrap__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(CondVar* changed, Mutex* mutex) {
  __tsan_release(mutex);
  __real__ZN4absl7debian37CondVar4WaitEPNS0_5MutexE(changed, mutex);
  __tsan_acquire(mutex);
}

bool __wrap__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(CondVar* changed,
                                                                                 Mutex* mutex,
                                                                                 Duration time) {
  __tsan_release(mutex);
  const bool late = __real__ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE(
      changed, mutex, time);
  __tsan_acquire(mutex);
  return late;
}

bool __wrap__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(CondVar* changed,
                                                                              Mutex* mutex,
                                                                              Time deadline) {
  __tsan_release(mutex);
  const bool late = __real__ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE(
      changed, mutex, deadline);
  __tsan_acquire(mutex);
  return late;
}

using ::absl::base_internal::SchedulingMode;
using ::absl::base_internal::SpinLockWaitTransition;

#define SPIN_LOCK_WAIT                                                               \
  "_ZN4absl7debian313base_internal12SpinLockWaitEPSt6atomicIjEiPKNS1_22SpinLockWait" \
  "TransitionENS1_14SchedulingModeE"

uint32_t RealSpinLockWait(std::atomic<uint32_t>*, int, const SpinLockWaitTransition*,
                          SchedulingMode) __asm__("__real_" SPIN_LOCK_WAIT);
uint32_t VisibleSpinLockWait(std::atomic<uint32_t>*, int, const SpinLockWaitTransition*,
                             SchedulingMode) __asm__("__wrap_" SPIN_LOCK_WAIT);

// Threads that wait for another one's absl::call_once().
uint32_t VisibleSpinLockWait(std::atomic<uint32_t>* word, int count,
                             const SpinLockWaitTransition* transitions, SchedulingMode mode) {
  const uint32_t state = RealSpinLockWait(word, count, transitions, mode);
  __tsan_acquire(word);
  return state;
}

}  // extern "C"
