// Shows StreamLimits the bytes that gRPC reads and writes.
#ifndef SEXTANT_SERVER_LISTEN_TRANSPORT_TAP_H_
#define SEXTANT_SERVER_LISTEN_TRANSPORT_TAP_H_

#include <memory>

#include "server/listen/stream_limits.h"

namespace sextant::server {

// Has `streams` count what passes on the socket `descriptor` until it is closed: as gRPC reads and
// writes it, or, with TLS, as OpenSSL has decrypted it and before it encrypts it. A connection with
// an excess is shut down, and gRPC reads its end in place of the bytes. Before gRPC gets the
// descriptor.
//
// The programs are linked with --wrap: libgrpc's calls of recvmsg(), sendmsg(), close(), SSL_read()
// and SSL_write() are calls of functions here, which call those.
void TapConnection(int descriptor, bool is_encrypted, std::shared_ptr<ConnectionStreams> streams);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_TRANSPORT_TAP_H_
