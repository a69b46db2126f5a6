#include "node/device_manager/endpoint.h"

#include <fmt/core.h>
#include <poll.h>

#include <optional>
#include <utility>

#include "host/os/poll.h"

namespace berth::device_manager {
namespace {

constexpr std::size_t kLongestMessage = std::size_t{4} << 20;  // what the kubelet's gRPC takes
constexpr os::Millis kConnectAgain{50};
constexpr os::Millis kSeenToEnd{500};  // after a call broke: is it the call, or the plug-in?
constexpr os::Millis kLook{10};

std::string MethodOf(std::string_view name) { return fmt::format("/v1beta1.DevicePlugin/{}", name); }

grpc::ClientOptions OptionsOfClient() {
  grpc::ClientOptions out;
  out.limits.message = kLongestMessage;
  return out;
}

}  // namespace

Result<std::shared_ptr<Endpoint>> Endpoint::Make(std::string resource, const std::string& path, std::string name,
                                                 const Patience& patience) {
  BERTH_TRY(os::EventFd stop, os::EventFd::Open());
  return std::shared_ptr<Endpoint>(new Endpoint(std::move(resource), path, std::move(name), patience, std::move(stop)));
}

Endpoint::Endpoint(std::string resource, const std::string& path, std::string name, const Patience& patience,
                   os::EventFd stop)
    : resource_(std::move(resource)),
      name_(std::move(name)),
      patience_(patience),
      stop_(std::move(stop)),
      client_(grpc::UnixConnector(path), path, OptionsOfClient()) {}

void Endpoint::Stop() {
  stopped_ = true;
  stop_.Signal();
}

Error Endpoint::HasStopped() const {
  return {.code = Code::kUnreachable,
          .sys = 0,
          .message = fmt::format("endpoint {} of {} has been stopped", name_, resource_)};
}

Result<std::string> Endpoint::Call(const std::string& method, const std::string& request, os::MonoTime deadline) {
  return client_.Call(method, request, {.deadline = deadline, .cancel_fd = stop_.get()});
}

/// Plug-ins may register before they listen.
Result<PluginOptions> Endpoint::Greet() {
  const os::MonoTime deadline = os::SystemClock().Now() + patience_.greet;
  for (;;) {
    auto answer = Call(MethodOf("GetDevicePluginOptions"), "", deadline);
    if (answer) return ReadOptions(*answer);
    const bool nobody = answer.error().code == Code::kUnreachable;
    if (!nobody || os::SystemClock().Now() + kConnectAgain >= deadline)
      return Wrap(std::move(answer).error(), "failed to dial device plugin with socketPath " + name_);
    BERTH_TRY(const bool stop, os::WaitFor(stop_.get(), POLLIN, os::SystemClock().Now() + kConnectAgain));
    if (stop) return std::unexpected(HasStopped());
  }
}

Error Endpoint::Watch(const NodeSet& nodes, const std::function<void(DeviceList)>& told) {
  auto stream = client_.Open(MethodOf("ListAndWatch"), {.cancel_fd = stop_.get()});
  if (!stream) return std::move(stream).error();
  if (auto written = stream->Write(""); !written) return std::move(written).error();
  stream->EndWrites();
  for (;;) {
    auto bytes = stream->Read();
    if (!bytes) return std::move(bytes).error();
    if (!*bytes) return {.code = Code::kUnreachable, .sys = 0, .message = "it has ended ListAndWatch"};
    auto list = ReadDeviceList(**bytes, nodes);
    if (!list) return std::move(list).error();
    told(*std::move(list));
    // Who lists without end is heard now and then, and held up meanwhile.
    const auto stop = os::WaitFor(stop_.get(), POLLIN, os::SystemClock().Now() + patience_.pause);
    if (!stop) return stop.error();
    if (*stop) return HasStopped();
  }
}

/// When the call broke because the plug-in went, that is seen in a moment by who watches it.
Result<std::string> Endpoint::Ask(const std::string& method, const std::string& request, os::Millis limit) {
  if (stopped_) return std::unexpected(HasStopped());
  auto answer = Call(MethodOf(method), request, os::SystemClock().Now() + limit);
  if (answer) return answer;
  const Code code = answer.error().code;
  if (code == Code::kUnreachable || code == Code::kUncertain || code == Code::kCancelled) {
    const os::MonoTime until = os::SystemClock().Now() + kSeenToEnd;
    while (!stopped_ && os::SystemClock().Now() < until) os::SleepFor(kLook);
    if (stopped_) return std::unexpected(HasStopped());
    answer.error().code = Code::kUncertain;
  }
  return answer;
}

Result<DeviceAnswer> Endpoint::Allocate(const std::vector<std::string>& ids) {
  BERTH_TRY(const std::string answer, Ask("Allocate", WriteAllocation(ids), patience_.allocate));
  return ReadAllocation(answer);
}

Result<void> Endpoint::PreStart(const std::vector<std::string>& ids) {
  auto answer = Ask("PreStartContainer", WritePreStart(ids), patience_.pre_start);
  if (!answer) return Wrap(std::move(answer).error(), "device plugin PreStartContainer rpc failed with err");
  return {};
}

Result<std::vector<std::string>> Endpoint::Prefer(const PreferenceQuestion& question) {
  auto answer = Ask("GetPreferredAllocation", WritePreference(question), patience_.allocate);
  if (!answer) return Wrap(std::move(answer).error(), "device plugin GetPreferredAllocation rpc failed with err");
  return ReadPreference(*answer);
}

}  // namespace berth::device_manager
