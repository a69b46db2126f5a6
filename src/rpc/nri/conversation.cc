#include "rpc/nri/conversation.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "rpc/nri/versions.h"

namespace berth::nri {
namespace {

/// Calls that wait for a handler that does not return. What is missed then is made good by joining anew.
constexpr std::size_t kMostWaiting = 1024;
/// Of an inventory that comes in parts.
constexpr std::size_t kMostObjects = 200'000;

const std::string kService = "nri.pkg.api.v1alpha1.Plugin/";

using Updates = std::vector<Update>;

template <class T>
void MoveTo(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

ttrpc::Reply Refused(const Error& error) { return std::unexpected(grpc::Status(error)); }

/// Of what the runtime cannot be without: a container is always one's.
Result<Subject> OfContainer(const std::string& payload) {
  BERTH_TRY(Subject out, DecodeSubject(payload));
  if (!out.container) return Fail(Code::kInvalid, "the request names no container");
  return out;
}

}  // namespace

// ---- the queue ----

bool HandlerQueue::Post(std::move_only_function<void(Handler&)> call) {
  if (threads_.jobs() >= kMostWaiting) return false;
  PostAnyway(std::move(call));
  return true;
}

void HandlerQueue::PostAnyway(std::move_only_function<void(Handler&)> call) {
  threads_.Do([&handler = handler_, call = std::move(call)] mutable { call(handler); });
}

// ---- the conversation ----

Result<std::shared_ptr<Conversation>> Conversation::Make(HandlerQueue& queue, std::uint32_t wanted, WhenLate when_late,
                                                         os::Millis longest_answer) {
  BERTH_TRY(os::EventFd news, os::EventFd::Open());
  return std::shared_ptr<Conversation>(new Conversation(queue, wanted, when_late, longest_answer, std::move(news)));
}

ttrpc::Handlers Conversation::Methods() {
  using Call = ttrpc::IncomingCall;
  const auto self = shared_from_this();
  ttrpc::Handlers out;
  out[kService + "Configure"] = [self](const Call&, const std::string& payload) { return self->Configure(payload); };
  out[kService + "Synchronize"] = [self](const Call& call, const std::string& payload) {
    return self->Synchronize(call, payload);
  };
  out[kService + "Shutdown"] = [self](const Call&, const std::string&) -> ttrpc::Reply {
    self->Spoil("the runtime has shut the plug-in down");
    return "";
  };
  out[kService + "CreateContainer"] = [self](const Call& call, const std::string& payload) {
    return self->Create(call, payload);
  };
  out[kService + "UpdateContainer"] = [self](const Call& call, const std::string& payload) {
    return self->Update(call, payload);
  };
  out[kService + "StopContainer"] = [self](const Call& call, const std::string& payload) {
    return self->Stop(call, payload);
  };
  out[kService + "StateChange"] = [self](const Call& call, const std::string& payload) {
    return self->StateChange(call, payload);
  };
  out[kService + "UpdatePodSandbox"] = [self](const Call& call, const std::string& payload) {
    return self->Tell(call, DecodeUpdatePod(payload));
  };
  constexpr std::pair<const char*, Event> kTold[] = {{"RunPodSandbox", Event::kRunPod},
                                                     {"StopPodSandbox", Event::kStopPod},
                                                     {"RemovePodSandbox", Event::kRemovePod},
                                                     {"PostUpdatePodSandbox", Event::kPostUpdatePod},
                                                     {"PostCreateContainer", Event::kPostCreateContainer},
                                                     {"StartContainer", Event::kStartContainer},
                                                     {"PostStartContainer", Event::kPostStartContainer},
                                                     {"PostUpdateContainer", Event::kPostUpdateContainer},
                                                     {"RemoveContainer", Event::kRemoveContainer}};
  for (const auto& [method, which] : kTold) {
    out[kService + method] = [self, event = which](const Call& call, const std::string& payload) {
      auto subject = DecodeSubject(payload);
      if (subject) subject->event = event;
      return self->Tell(call, std::move(subject));
    };
  }
  return out;
}

bool Conversation::joined() const {
  const MutexLock lock(mutex_);
  return joined_;
}

std::optional<std::string> Conversation::spoilt() const {
  const MutexLock lock(mutex_);
  return spoilt_;
}

std::optional<Runtime> Conversation::runtime() const {
  const MutexLock lock(mutex_);
  return runtime_;
}

void Conversation::Spoil(const std::string& why) {
  const MutexLock lock(mutex_);
  if (!spoilt_) spoilt_ = why;
  news_.Signal();
}

/// The runtime's own limit counts, where the call says one, and never more than what was set.
os::MonoTime Conversation::Due(const ttrpc::IncomingCall& call) const {
  const MutexLock lock(mutex_);
  os::MonoTime out = call.arrived + std::min(longest_answer_, AnswerTime(runtime_.value_or(Runtime())));
  if (call.deadline) out = std::min(out, call.arrived + (*call.deadline - call.arrived) * 4 / 5);
  return out;
}

template <class T>
std::optional<Result<T>> Conversation::Ask(os::MonoTime due, std::move_only_function<void(Handler&, Answer<T>)> ask) {
  const Answer<T> answer(due);
  std::optional<Result<T>> out;
  if (queue_.Post([ask = std::move(ask), answer](Handler& handler) mutable { ask(handler, answer); }))
    out = answer.Wait();
  if (!out) queue_.NoteLate();
  return out;
}

ttrpc::Reply Conversation::Configure(const std::string& payload) {
  auto runtime = DecodeConfigure(payload);
  if (!runtime) return Refused(runtime.error());
  const std::uint32_t events = wanted_ & KnownEvents(*runtime);
  if (events == 0) {  // it would mean all of them
    const Error error = Fail(Code::kConflict, "this runtime knows none of the events that are asked for").error();
    Spoil(error.message);
    return Refused(error);
  }
  {
    const MutexLock lock(mutex_);
    runtime_ = *runtime;
    parts_ = {};
  }
  queue_.PostAnyway([runtime = *std::move(runtime)](Handler& handler) { handler.Joined(runtime); });
  return EncodeConfigured(events);
}

ttrpc::Reply Conversation::Synchronize(const ttrpc::IncomingCall& call, const std::string& payload) {
  auto part = DecodeSynchronize(payload);
  if (!part) return Refused(part.error());
  Inventory all;
  bool too_many = false;
  {
    const MutexLock lock(mutex_);
    MoveTo(parts_.pods, part->inventory.pods);
    MoveTo(parts_.containers, part->inventory.containers);
    too_many = parts_.pods.size() + parts_.containers.size() > kMostObjects;
    if (too_many || !part->more) all = std::exchange(parts_, {});
  }
  if (too_many) {
    Spoil("the runtime has more pods and containers than any node");
    return Refused({.code = Code::kExhausted, .sys = 0, .message = "too many pods and containers"});
  }
  if (part->more) return EncodeSynchronized({}, true);
  auto answer = Ask<Updates>(Due(call), [all = std::move(all)](Handler& handler, const Answer<Updates>& to) mutable {
    handler.Synchronize(std::move(all), to);
  });
  if (answer && !*answer) return Refused(answer->error());
  {
    const MutexLock lock(mutex_);
    joined_ = true;
  }
  news_.Signal();
  return EncodeSynchronized(answer ? **answer : Updates(), false);
}

ttrpc::Reply Conversation::Create(const ttrpc::IncomingCall& call, const std::string& payload) {
  auto subject = OfContainer(payload);
  if (!subject) return Refused(subject.error());
  const std::string name = subject->container->name;
  auto answer =
      Ask<Creation>(Due(call), [subject = *std::move(subject)](Handler& handler, const Answer<Creation>& to) mutable {
        handler.CreateContainer(std::move(subject.pod), *std::move(subject.container), to);
      });
  if (answer && *answer) return EncodeCreated(**answer);
  if (answer) return Refused(answer->error());
  if (when_late_ == WhenLate::kLetPass) return EncodeCreated({});
  return Refused({.code = Code::kTimeout, .sys = 0, .message = "no place was found in time for container " + name});
}

ttrpc::Reply Conversation::Update(const ttrpc::IncomingCall& call, const std::string& payload) {
  auto subject = OfContainer(payload);
  if (!subject) return Refused(subject.error());
  auto answer =
      Ask<Updates>(Due(call), [subject = *std::move(subject)](Handler& handler, const Answer<Updates>& to) mutable {
        handler.UpdateContainer(std::move(subject.pod), *std::move(subject.container), std::move(subject.wanted), to);
      });
  if (answer && !*answer) return Refused(answer->error());
  return EncodeUpdated(answer ? **answer : Updates());
}

ttrpc::Reply Conversation::Stop(const ttrpc::IncomingCall& call, const std::string& payload) {
  auto subject = OfContainer(payload);
  if (!subject) return Refused(subject.error());
  auto answer =
      Ask<Updates>(Due(call), [subject = *std::move(subject)](Handler& handler, const Answer<Updates>& to) mutable {
        handler.StopContainer(std::move(subject.pod), *std::move(subject.container), to);
      });
  if (answer && !*answer) return Refused(answer->error());
  return EncodeUpdated(answer ? **answer : Updates());
}

/// The older way of the same news, in one method for all.
ttrpc::Reply Conversation::StateChange(const ttrpc::IncomingCall& call, const std::string& payload) {
  auto subject = DecodeStateChange(payload);
  if (subject && subject->event == Event::kUnknown) return "";  // of a newer version
  return Tell(call, std::move(subject));
}

/// Nothing is waited for, but a container that is about to run.
ttrpc::Reply Conversation::Tell(const ttrpc::IncomingCall& call, Result<Subject> subject) {
  if (!subject) return Refused(subject.error());
  if (subject->event == Event::kStartContainer && subject->container) {
    const auto answer =
        Ask<Ready>(Due(call), [subject = *std::move(subject)](Handler& handler, const Answer<Ready>& to) mutable {
          handler.StartContainer(std::move(subject.pod), *std::move(subject.container), to);
        });
    return answer && !*answer ? Refused(answer->error()) : "";
  }
  const bool taken = queue_.Post([subject = *std::move(subject)](Handler& handler) mutable {
    if (subject.event == Event::kUpdatePod)
      return handler.UpdatePod(std::move(subject.pod), std::move(subject.overhead), std::move(subject.wanted));
    handler.Happened(subject.event, std::move(subject.pod), std::move(subject.container));
  });
  if (!taken) Spoil("more has happened than could be looked at");
  return "";
}

}  // namespace berth::nri
