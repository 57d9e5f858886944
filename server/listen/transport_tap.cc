#include "server/listen/transport_tap.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" {
ssize_t __real_recvmsg(int descriptor, msghdr* message, int flags);
ssize_t __real_sendmsg(int descriptor, const msghdr* message, int flags);
int __real_close(int descriptor);
int __real_SSL_read(SSL* ssl, void* buffer, int size);
int __real_SSL_write(SSL* ssl, const void* buffer, int size);
}

namespace sextant::server {
namespace {

// The server raises its limit of descriptors no further.
constexpr size_t kMaxDescriptors = 65'536;

// A ClientHello is in the first record: 5 bytes of the record's head, 4 of the message's and 2 of
// the version are before the random; RFC 8446, sections 4.1.2 and 5.1.
constexpr size_t kRandomStart = 11;
constexpr size_t kRandomBytes = 32;

using Streams = std::shared_ptr<ConnectionStreams>;

struct Tap {
  Streams streams;
  bool is_encrypted = false;
  std::string hello;  // the first bytes, until the random is complete
};

struct Slot {
  std::mutex mutex;
  std::atomic<Tap*> tap{nullptr};  // changes under the mutex
};

// By descriptor. Never destroyed: gRPC's threads may outlive main().
std::array<Slot, kMaxDescriptors> slots;

// Connections with TLS whose ClientHello has been read, by its random, until the handshake is over:
// gRPC gives OpenSSL no descriptor.
class Handshakes {
 public:
  void Add(const std::string& random, Streams streams) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_[random] = std::move(streams);
  }
  // Null: none, or no longer.
  Streams Take(const std::string& random) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = streams_.find(random);
    if (found == streams_.end()) return nullptr;
    Streams out = std::move(found->second);
    streams_.erase(found);
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Streams> streams_;
};

Handshakes& AllHandshakes() {
  static Handshakes* const all = new Handshakes;
  return *all;
}

bool HasTap(int descriptor) {
  return descriptor >= 0 && static_cast<size_t>(descriptor) < kMaxDescriptors &&
         slots[static_cast<size_t>(descriptor)].tap.load(std::memory_order_acquire) != nullptr;
}

// Null: none, or only OpenSSL has the frames.
Streams StreamsOf(int descriptor) {
  Slot& slot = slots[static_cast<size_t>(descriptor)];
  const std::lock_guard<std::mutex> lock(slot.mutex);
  const Tap* const tap = slot.tap;
  return tap == nullptr || tap->is_encrypted ? nullptr : tap->streams;
}

// Takes the random out of the first bytes of an encrypted connection.
void ReadHello(int descriptor, absl::string_view bytes) {
  Slot& slot = slots[static_cast<size_t>(descriptor)];
  const std::lock_guard<std::mutex> lock(slot.mutex);
  Tap* const tap = slot.tap;
  constexpr size_t kEnough = kRandomStart + kRandomBytes;
  if (tap == nullptr || !tap->is_encrypted || tap->hello.size() >= kEnough) return;
  const absl::string_view head = bytes.substr(0, kEnough - tap->hello.size());
  tap->hello.append(head.data(), head.size());
  if (tap->hello.size() == kEnough) {
    AllHandshakes().Add(tap->hello.substr(kRandomStart), tap->streams);
  }
}

// Calls `see` with the first `count` bytes of `message`.
template <typename See>
void ForBytes(const msghdr& message, size_t count, See see) {
  for (size_t i = 0; i < message.msg_iovlen && count > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t size = std::min(part.iov_len, count);
    see(absl::string_view(static_cast<const char*>(part.iov_base), size));
    count -= size;
  }
}

void Release(int descriptor) {
  Slot& slot = slots[static_cast<size_t>(descriptor)];
  std::unique_ptr<const Tap> ended;
  {
    const std::lock_guard<std::mutex> lock(slot.mutex);
    ended.reset(slot.tap.exchange(nullptr));
  }
  if (ended != nullptr && ended->hello.size() > kRandomStart) {
    AllHandshakes().Take(ended->hello.substr(kRandomStart));
  }
}

void FreeStreams(void* /*ssl*/, void* streams, CRYPTO_EX_DATA* /*all*/, int /*index*/,
                 long /*argument*/, void* /*pointer*/) {
  delete static_cast<Streams*>(streams);
}

// True where gRPC serves by `ssl`: without a descriptor, which those of HTTP have.
bool IsOfGrpcServer(const SSL* ssl) { return SSL_is_server(ssl) == 1 && SSL_get_fd(ssl) < 0; }

// The streams of the connection that `ssl` is of; null where none is known, as after a ClientHello
// in more than one record, which no library sends. They are kept with `ssl`.
ConnectionStreams* StreamsOf(SSL* ssl) {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeStreams);
  auto* kept = static_cast<Streams*>(SSL_get_ex_data(ssl, index));
  if (kept == nullptr) {
    std::string random(kRandomBytes, '\0');
    SSL_get_client_random(ssl, reinterpret_cast<unsigned char*>(random.data()), random.size());
    kept = new Streams(AllHandshakes().Take(random));
    SSL_set_ex_data(ssl, index, kept);
  }
  return kept->get();
}

}  // namespace

void TapConnection(int descriptor, bool is_encrypted, Streams streams) {
  if (descriptor < 0 || static_cast<size_t>(descriptor) >= kMaxDescriptors) return;
  Slot& slot = slots[static_cast<size_t>(descriptor)];
  streams->OnClose([descriptor, &slot, of = streams.get()] {
    const std::lock_guard<std::mutex> lock(slot.mutex);
    const Tap* const tap = slot.tap;
    if (tap != nullptr && tap->streams.get() == of) shutdown(descriptor, SHUT_RDWR);
  });
  const std::lock_guard<std::mutex> lock(slot.mutex);
  delete slot.tap.exchange(
      new Tap{.streams = std::move(streams), .is_encrypted = is_encrypted, .hello = {}});
}

}  // namespace sextant::server

using sextant::server::ConnectionStreams;

extern "C" {

__attribute__((used)) ssize_t __wrap_recvmsg(int descriptor, msghdr* message, int flags) {
  const ssize_t size = __real_recvmsg(descriptor, message, flags);
  if (size <= 0 || !sextant::server::HasTap(descriptor)) return size;
  const sextant::server::Streams streams = sextant::server::StreamsOf(descriptor);
  bool goes_on = true;
  sextant::server::ForBytes(*message, static_cast<size_t>(size), [&](absl::string_view bytes) {
    if (streams == nullptr) return sextant::server::ReadHello(descriptor, bytes);
    goes_on = goes_on && streams->Received(bytes);
  });
  return goes_on ? size : 0;
}

__attribute__((used)) ssize_t __wrap_sendmsg(int descriptor, const msghdr* message, int flags) {
  const ssize_t size = __real_sendmsg(descriptor, message, flags);
  if (size <= 0 || !sextant::server::HasTap(descriptor)) return size;
  const sextant::server::Streams streams = sextant::server::StreamsOf(descriptor);
  if (streams == nullptr) return size;
  sextant::server::ForBytes(*message, static_cast<size_t>(size),
                            [&streams](absl::string_view bytes) { streams->Sent(bytes); });
  return size;
}

__attribute__((used)) int __wrap_close(int descriptor) {
  if (sextant::server::HasTap(descriptor)) sextant::server::Release(descriptor);
  return __real_close(descriptor);
}

__attribute__((used)) int __wrap_SSL_read(SSL* ssl, void* buffer, int size) {
  const int read = __real_SSL_read(ssl, buffer, size);
  if (read <= 0 || !sextant::server::IsOfGrpcServer(ssl)) return read;
  ConnectionStreams* const streams = sextant::server::StreamsOf(ssl);
  const absl::string_view bytes(static_cast<const char*>(buffer), static_cast<size_t>(read));
  if (streams != nullptr && streams->Received(bytes)) return read;
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);  // SSL_get_error() says SSL_ERROR_SSL
  return -1;
}

__attribute__((used)) int __wrap_SSL_write(SSL* ssl, const void* buffer, int size) {
  const int written = __real_SSL_write(ssl, buffer, size);
  if (written <= 0 || !sextant::server::IsOfGrpcServer(ssl)) return written;
  ConnectionStreams* const streams = sextant::server::StreamsOf(ssl);
  if (streams != nullptr) {
    streams->Sent({static_cast<const char*>(buffer), static_cast<size_t>(written)});
  }
  return written;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
