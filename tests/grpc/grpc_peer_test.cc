// The component grpc and gRPC's own library with each other, on unix sockets.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "peer.grpc.pb.h"
#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/grpc_server.h"
#include "testing/fixtures.h"

namespace berth::grpc {
namespace {

using test::Text;

constexpr os::Millis kLong{30'000};
constexpr int kLargest = 16 << 20;
const std::string kWords = "Größe 5% \xE2\x82\xAC, line one\nline two";

Patience For(os::Millis time) { return {.deadline = os::SystemClock().Now() + time}; }

Text TextOf(std::string text, int number = 0) {
  Text out;
  out.set_text(std::move(text));
  out.set_number(number);
  return out;
}

/// What a server has seen of calls that it does not answer.
struct Hanging {
  std::atomic<bool> begun = false;
  std::atomic<bool> over = false;
};
constexpr int kGivenUp = 1;  // the number of one that its caller gives up; others are late

// ---- theirs serves, ours calls ----

class TheirService final : public test::Peer::Service {
 public:
  ::grpc::Status Echo(::grpc::ServerContext*, const Text* in, Text* out) override {
    if (in->number() != 0) return {static_cast<::grpc::StatusCode>(in->number()), in->text()};
    *out = *in;
    return ::grpc::Status::OK;
  }
  ::grpc::Status List(::grpc::ServerContext*, const Text* in, ::grpc::ServerWriter<Text>* out) override {
    for (int i = 0; i < in->number(); ++i)
      if (!out->Write(TextOf(in->text(), i))) return ::grpc::Status::CANCELLED;
    return {::grpc::StatusCode::DATA_LOSS, "that was all"};
  }
  ::grpc::Status Sum(::grpc::ServerContext*, ::grpc::ServerReader<Text>* in, Text* out) override {
    std::size_t all = 0;
    for (Text text; in->Read(&text);) all += text.text().size();
    out->set_number(static_cast<int>(all));
    return ::grpc::Status::OK;
  }
  ::grpc::Status Chat(::grpc::ServerContext*, ::grpc::ServerReaderWriter<Text, Text>* chat) override {
    for (Text text; chat->Read(&text);) chat->Write(text);
    return ::grpc::Status::OK;
  }
  ::grpc::Status Hang(::grpc::ServerContext* context, const Text* in, Text*) override {
    Hanging& call = in->number() == kGivenUp ? given_up : late;
    call.begun = true;
    while (!context->IsCancelled()) os::SleepFor(os::Millis(2));
    call.over = true;
    return ::grpc::Status::CANCELLED;
  }
  Hanging late;
  Hanging given_up;
};

struct TheirServerTest : testing::Test {
  void Start() {
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, ::grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kLargest + 1024);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    ASSERT_TRUE(server);
  }
  void SetUp() override { Start(); }
  void TearDown() override { server->Shutdown(std::chrono::system_clock::now()); }

  Result<Text> Call(const std::string& method, const Text& request, const Patience& patience = For(kLong)) {
    BERTH_TRY(const std::string said, client.Call("/berth.test.Peer/" + method, request.SerializeAsString(), patience));
    Text out;
    EXPECT_TRUE(out.ParseFromString(said));
    return out;
  }

  testkit::TempDir temp;
  std::string path = temp / "socket";
  TheirService service;
  std::unique_ptr<::grpc::Server> server;
  Client client{UnixConnector(path), path};
};

TEST_F(TheirServerTest, AnswersOurCallsOfAnyLength) {
  for (const std::size_t size : {0U, 1U, 100'000U, 15'000'000U}) {
    const auto said = Call("Echo", TextOf(std::string(size, 'x')));
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ(size, said->text().size());
  }
}

TEST_F(TheirServerTest, ItsStatusesArriveWithTheirWords) {
  for (int number = 1; number < 17; ++number) {
    const auto said = Call("Echo", TextOf(kWords, number));
    ASSERT_FALSE(said);
    EXPECT_EQ(CodeOf(StatusCodeOf(number)), said.error().code) << number;
    EXPECT_EQ(kWords, said.error().message);
  }
  EXPECT_EQ(Code::kUnsupported, Call("None", {}).error().code);
}

TEST_F(TheirServerTest, StreamsToUsAndWaitsWhileWeDoNotRead) {
  auto stream = client.Open("/berth.test.Peer/List", For(kLong));
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->Write(TextOf(std::string(100'000, 'x'), 100).SerializeAsString()));
  stream->EndWrites();
  EXPECT_TRUE(Call("Echo", TextOf("others are not held up")));
  int number = 0;
  for (auto message = stream->Read();; message = stream->Read(), ++number) {
    if (!message) {
      EXPECT_EQ(Code::kCorrupt, message.error().code) << message.error().message;
      break;
    }
    Text text;
    ASSERT_TRUE(*message && text.ParseFromString(**message));
    EXPECT_EQ(number, text.number());
  }
  EXPECT_EQ(100, number);
}

TEST_F(TheirServerTest, TakesOurStreams) {
  auto sum = client.Open("/berth.test.Peer/Sum", For(kLong));
  ASSERT_TRUE(sum);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sum->Write(TextOf(std::string(50'000, 'x')).SerializeAsString()));
  sum->EndWrites();
  Text said;
  ASSERT_TRUE(said.ParseFromString(**sum->Read()));
  EXPECT_EQ(5'000'000, said.number());
  auto chat = client.Open("/berth.test.Peer/Chat", For(kLong));
  ASSERT_TRUE(chat);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(chat->Write(TextOf("x", i).SerializeAsString()));
    ASSERT_TRUE(said.ParseFromString(**chat->Read()));
    EXPECT_EQ(i, said.number());
  }
  chat->EndWrites();
  const auto end = chat->Read();
  EXPECT_TRUE(end && !*end);
}

TEST_F(TheirServerTest, LearnsOfOurDeadlinesAndOfCallsWeGiveUp) {
  do {  // one whose time is over before the server has begun with it teaches it nothing
    const auto late = Call("Hang", {}, For(os::Millis(100)));
    ASSERT_FALSE(late);
    EXPECT_EQ(Code::kTimeout, late.error().code);
  } while (!service.late.begun);
  while (!service.late.over) os::SleepFor(os::Millis(2));
  auto hangs = client.Open("/berth.test.Peer/Hang", For(kLong));
  ASSERT_TRUE(hangs && hangs->Write(TextOf("", kGivenUp).SerializeAsString()));
  while (!service.given_up.begun) os::SleepFor(os::Millis(2));
  hangs->Cancel();
  while (!service.given_up.over) os::SleepFor(os::Millis(2));
}

TEST_F(TheirServerTest, AnswersManyOfOurCallsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i)
        if (const auto said = Call("Echo", TextOf(std::to_string(i))); said && said->text() == std::to_string(i))
          ++answered;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(16 * 25, answered);
}

TEST_F(TheirServerTest, IsCalledAgainAfterItWasStartedAnew) {
  EXPECT_TRUE(Call("Echo", {}));
  for (int i = 0; i < 3; ++i) {
    server->Shutdown();
    server->Wait();
    Start();
    const auto said = Call("Echo", {});
    EXPECT_TRUE(said) << said.error().message;
  }
}

// ---- ours serves, theirs calls ----

struct OurServerTest : testing::Test {
  static Status Chat(ServerStream& stream) {
    for (;;) {
      auto message = stream.Read();
      if (!message) return message.error();
      if (!*message) return {};
      if (const auto sent = stream.Write(**message); !sent) return sent.error();
    }
  }
  static Reply Echo(const ServerCall&, const std::string& request) {
    Text text;
    if (!text.ParseFromString(request)) return std::unexpected(Status(StatusCode::kInvalidArgument, "no text"));
    if (text.number() != 0) return std::unexpected(Status(StatusCodeOf(text.number()), text.text()));
    return request;
  }
  static Status List(ServerStream& stream) {
    Text asked;
    if (const auto request = stream.Read(); !request || !*request || !asked.ParseFromString(**request))
      return {StatusCode::kInvalidArgument, "no text"};
    for (int i = 0; i < asked.number(); ++i)
      if (const auto sent = stream.Write(TextOf(asked.text(), i).SerializeAsString()); !sent) return sent.error();
    return {StatusCode::kDataLoss, "that was all"};
  }
  static Status Sum(ServerStream& stream) {
    std::size_t all = 0;
    for (auto message = stream.Read(); message && *message; message = stream.Read()) {
      Text text;
      if (text.ParseFromString(**message)) all += text.text().size();
    }
    if (const auto sent = stream.Write(TextOf("", static_cast<int>(all)).SerializeAsString()); !sent)
      return sent.error();
    return {};
  }
  void Start() {
    auto started = Server::Start({.unary = {{"/berth.test.Peer/Echo", Echo}},
                                  .streaming = {{"/berth.test.Peer/List", List},
                                                {"/berth.test.Peer/Sum", Sum},
                                                {"/berth.test.Peer/Chat", Chat},
                                                {"/berth.test.Peer/Hang", [this](ServerStream& stream) -> Status {
                                                   Text asked;
                                                   const auto request = stream.Read();
                                                   if (!request || !*request || !asked.ParseFromString(**request))
                                                     return {StatusCode::kInvalidArgument, "no text"};
                                                   Hanging& call = asked.number() == kGivenUp ? given_up : late;
                                                   call.begun = true;
                                                   stream.WaitGone(std::nullopt);
                                                   call.over = true;
                                                   return {};
                                                 }}}});
    ASSERT_TRUE(started && (*started)->Listen(path, 0600));
    server = *std::move(started);
  }
  void SetUp() override {
    Start();
    ::grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kLargest);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10);
    stub = test::Peer::NewStub(
        ::grpc::CreateCustomChannel("unix:" + path, ::grpc::InsecureChannelCredentials(), arguments));
  }
  static void SetDeadline(::grpc::ClientContext& context, os::Millis time) {
    context.set_deadline(std::chrono::system_clock::now() + time);
  }
  ::grpc::Status Call(const Text& request, Text& answer, bool wait = false) const {
    ::grpc::ClientContext context;
    context.set_wait_for_ready(wait);
    SetDeadline(context, kLong);
    return stub->Echo(&context, request, &answer);
  }

  testkit::TempDir temp;
  std::string path = temp / "socket";
  Hanging late;
  Hanging given_up;
  std::unique_ptr<Server> server;
  std::unique_ptr<test::Peer::Stub> stub;
};

TEST_F(OurServerTest, AnswersCallsOfAnyLength) {
  for (const std::size_t size : {0U, 1U, 100'000U, 15'000'000U}) {
    Text said;
    const ::grpc::Status status = Call(TextOf(std::string(size, 'x')), said);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(size, said.text().size());
  }
}

TEST_F(OurServerTest, RefusesWhatIsTooLongOrCompressedWithTheRightStatus) {
  Text said;
  EXPECT_EQ(::grpc::StatusCode::RESOURCE_EXHAUSTED, Call(TextOf(std::string(kLargest, 'x')), said).error_code());
  ::grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const ::grpc::Status status = stub->Echo(&context, TextOf(std::string(10'000, 'x')), &said);
  EXPECT_EQ(::grpc::StatusCode::UNIMPLEMENTED, status.error_code()) << status.error_message();
}

TEST_F(OurServerTest, ItsStatusesArriveWithTheirWords) {
  for (int number = 1; number < 17; ++number) {
    Text said;
    const ::grpc::Status status = Call(TextOf(kWords, number), said);
    EXPECT_EQ(number, static_cast<int>(status.error_code()));
    EXPECT_EQ(kWords, status.error_message());
  }
}

TEST_F(OurServerTest, StreamsAndWaitsForASlowReader) {
  ::grpc::ClientContext context;
  SetDeadline(context, kLong);
  const auto list = stub->List(&context, TextOf(std::string(100'000, 'x'), 100));
  os::SleepFor(os::Millis(50));
  int number = 0;
  for (Text text; list->Read(&text); ++number) EXPECT_EQ(number, text.number());
  EXPECT_EQ(100, number);
  const ::grpc::Status status = list->Finish();
  EXPECT_EQ(::grpc::StatusCode::DATA_LOSS, status.error_code());
  EXPECT_EQ("that was all", status.error_message());
}

TEST_F(OurServerTest, TakesStreamsOneWayAndBoth) {
  ::grpc::ClientContext of_sum;
  SetDeadline(of_sum, kLong);
  Text said;
  const auto sum = stub->Sum(&of_sum, &said);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sum->Write(TextOf(std::string(50'000, 'x'))));
  sum->WritesDone();
  ASSERT_TRUE(sum->Finish().ok());
  EXPECT_EQ(5'000'000, said.number());
  ::grpc::ClientContext of_chat;
  SetDeadline(of_chat, kLong);
  const auto chat = stub->Chat(&of_chat);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(chat->Write(TextOf("x", i)) && chat->Read(&said));
    EXPECT_EQ(i, said.number());
  }
  chat->WritesDone();
  EXPECT_FALSE(chat->Read(&said));
  EXPECT_TRUE(chat->Finish().ok());
}

TEST_F(OurServerTest, EndsCallsWhoseDeadlinePassedAndThoseThatAreGivenUp) {
  Text said;
  do {  // one whose time is over before the server has begun with it says nothing of the server
    ::grpc::ClientContext context;
    SetDeadline(context, os::Millis(100));
    EXPECT_EQ(::grpc::StatusCode::DEADLINE_EXCEEDED, stub->Hang(&context, {}, &said).error_code());
  } while (!late.begun);
  while (!late.over) os::SleepFor(os::Millis(2));
  ::grpc::ClientContext context;
  std::thread other([&] {
    while (!given_up.begun) os::SleepFor(os::Millis(2));
    context.TryCancel();
  });
  EXPECT_EQ(::grpc::StatusCode::CANCELLED, stub->Hang(&context, TextOf("", kGivenUp), &said).error_code());
  other.join();
  while (!given_up.over) os::SleepFor(os::Millis(2));
}

TEST_F(OurServerTest, AnswersManyCallsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i)
        if (Text said; Call(TextOf(std::to_string(i)), said).ok() && said.text() == std::to_string(i)) ++answered;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(16 * 25, answered);
}

TEST_F(OurServerTest, StopsAndIsStartedAnewWithoutLosingACall) {
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0;
  std::thread caller([&] {
    while (!done) {
      Text said;
      const ::grpc::Status status = Call(TextOf("x"), said, true);
      EXPECT_TRUE(status.ok()) << status.error_message();
      ++answered;
    }
  });
  for (int i = 0; i < 3; ++i) {
    const int before = answered;
    while (answered < before + 10) os::SleepFor(os::Millis(1));
    server->Stop(kLong);
    server.reset();
    Start();
  }
  done = true;
  caller.join();
}

}  // namespace
}  // namespace berth::grpc
