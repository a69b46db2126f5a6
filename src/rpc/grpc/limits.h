// Limits of one gRPC connection (HTTP/2): message and header sizes, header fields, concurrent streams, receive window.
#ifndef BERTH_RPC_GRPC_LIMITS_H_
#define BERTH_RPC_GRPC_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace berth::grpc {

struct Limits {
  std::size_t message = std::size_t{16} << 20;  ///< longest, either way; the kubelet's
  std::optional<std::size_t> received{};        ///< longest that is taken, where that is another
  std::size_t head_bytes = std::size_t{64} << 10;
  std::size_t head_fields = 128;
  std::uint32_t streams = 64;          ///< that the other side may have open at a time
  std::uint32_t window = 256U << 10U;  ///< bytes of one stream that may come before they are read
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_LIMITS_H_
