// Any bytes on the wire of staticPodURL are pods or a problem with a sentence.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "frontend/pod_sources/gather.h"
#include "host/os/poll.h"
#include "rpc/http/http_client.h"
#include "rpc/http/listener.h"

namespace {

/// Takes the question and says `bytes`.
void Say(int listener, std::string_view bytes) {
  BERTH_CHECK(berth::os::WaitFor(listener, POLLIN, std::nullopt).value_or(false));
  const berth::os::UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  std::array<char, 4096> question{};
  static_cast<void>(::recv(fd.get(), question.data(), question.size(), 0));
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "/tmp/berth-url-fuzz-" + std::to_string(::getpid());
  static const auto listener = *berth::http::ListenUnix(path, "");
  static const auto client = *berth::http::MakeClient();
  std::thread server([&] { Say(listener.fd.get(), {reinterpret_cast<const char*>(data), size}); });
  const auto answer = client->Send({.url = "http://h/pods", .unix_socket = path, .max_body = std::size_t{1} << 20});
  server.join();
  if (!answer) {
    BERTH_CHECK(!answer.error().message.empty());
    return 0;
  }
  if (answer->status == 200)
    static_cast<void>(berth::pod_sources::ReadStaticPods(
        answer->body, {.place = "url", .scheme = "url", .source = "http", .node_name = "node"}));
  return 0;
}
