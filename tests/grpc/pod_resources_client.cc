// A client of the pod resources API, v1, of gRPC's own library: makes one call and prints the answer as JSON with the
// interface's names. The one in Go (tests/go) is used alike.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "podresources.grpc.pb.h"

namespace {

constexpr int kLongest = 16 << 20;  // the kubelet's
constexpr const char* kUsage = "usage: pod_resources_client [--times N] SOCKET list|allocatable|get [NAMESPACE NAME]\n";

struct Wish {
  int times = 1;
  std::string socket;
  std::string what;
  v1::GetPodResourcesRequest pod;
};

bool Parse(std::vector<std::string> words, Wish& out) {
  if (words.size() > 2 && words[0] == "--times") {
    out.times = std::stoi(words[1]);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 2) return false;
  out.socket = words[0];
  out.what = words[1];
  if (out.what != "get") return words.size() == 2 && (out.what == "list" || out.what == "allocatable");
  if (words.size() != 4) return false;
  out.pod.set_pod_namespace(words[2]);
  out.pod.set_pod_name(words[3]);
  return true;
}

grpc::Status Ask(v1::PodResourcesLister::Stub& stub, const Wish& wish,
                 std::unique_ptr<google::protobuf::Message>& out) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  if (wish.what == "list") {
    auto answer = std::make_unique<v1::ListPodResourcesResponse>();
    const grpc::Status status = stub.List(&context, {}, answer.get());
    out = std::move(answer);
    return status;
  }
  if (wish.what == "allocatable") {
    auto answer = std::make_unique<v1::AllocatableResourcesResponse>();
    const grpc::Status status = stub.GetAllocatableResources(&context, {}, answer.get());
    out = std::move(answer);
    return status;
  }
  auto answer = std::make_unique<v1::GetPodResourcesResponse>();
  const grpc::Status status = stub.Get(&context, wish.pod, answer.get());
  out = std::move(answer);
  return status;
}

std::string NameOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNKNOWN: return "Unknown";
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return "ResourceExhausted";
    case grpc::StatusCode::UNAVAILABLE: return "Unavailable";
    default: return "Code(" + std::to_string(static_cast<int>(code)) + ")";
  }
}

}  // namespace

int main(int argc, char** argv) {
  Wish wish;
  if (!Parse({argv + 1, argv + argc}, wish)) {
    std::cerr << kUsage;
    return 2;
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLongest);
  const auto stub = v1::PodResourcesLister::NewStub(
      grpc::CreateCustomChannel("unix:" + wish.socket, grpc::InsecureChannelCredentials(), arguments));
  std::unique_ptr<google::protobuf::Message> answer;
  int refused = 0;
  for (int i = 0; i < wish.times; ++i) {
    std::unique_ptr<google::protobuf::Message> got;
    const grpc::Status status = Ask(*stub, wish, got);
    if (status.ok()) {
      answer = std::move(got);
      continue;
    }
    ++refused;
    if (wish.times > 1) continue;
    std::cerr << NameOf(status.error_code()) << ": " << status.error_message() << "\n";
    return 1;
  }
  if (wish.times > 1) std::cerr << refused << " of " << wish.times << " refused\n";
  if (!answer) return 1;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(*answer, &text, options).ok()) return 1;
  std::cout << text << "\n";
  return 0;
}
