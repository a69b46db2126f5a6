#include "kubernetes/kube_client/kube_session.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "host/os/whole_file.h"
#include "rpc/http/url.h"

namespace berth::kube {

Result<std::unique_ptr<Session>> Session::Open(Access access) {
  std::unique_ptr<Session> out(new Session(std::move(access)));
  const Access& from = out->access_;
  BERTH_TRY(out->fs_, os::OpenFs("/"));
  BERTH_TRY(out->tls_.authorities, out->PlaceOf(from.authorities, out->authorities_));
  BERTH_TRY(out->tls_.certificate, out->PlaceOf(from.certificate, out->certificate_));
  BERTH_TRY(out->tls_.key, out->PlaceOf(from.key, out->key_));
  out->base_ = from.server;
  if (!from.server_name.empty()) {
    BERTH_TRY(http::Url url, http::ParseUrl(from.server, "server", ""));
    out->connect_to_ = http::Authority(url);
    url.host = from.server_name;
    out->base_ = "https://" + http::Authority(url) + url.target;
    while (out->base_.ends_with('/')) out->base_.pop_back();
  }
  return out;
}

/// The TLS library takes files only; those of what is at hand are in memory, and nobody else's.
Result<std::string> Session::PlaceOf(const Pem& pem, os::UniqueFd& keeper) {
  if (pem.data.empty()) return pem.file;
  keeper = os::UniqueFd(::memfd_create("kubeconfig", MFD_CLOEXEC));
  if (!keeper.valid()) return FailErrno("make a file in memory", "", errno);
  BERTH_RETURN_IF_ERROR(os::WriteAll(keeper.get(), pem.data, "a file in memory"));
  return "/proc/self/fd/" + std::to_string(keeper.get());
}

Result<std::string> Session::ReadToken() {
  if (access_.token_file.empty()) return access_.token;
  BERTH_TRY(const std::string text, fs_->Read(access_.token_file));
  if (Trim(text).empty())
    return Fail(Code::kInvalid, access_.token_file + ": the file is empty; it should hold a token");
  return std::string(Trim(text));
}

Result<http::ClientRequest> Session::Prepare(std::string method, const std::string& path) {
  BERTH_TRY(const std::string token, ReadToken());
  if (!std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; }))
    return Fail(Code::kInvalid, "the token holds characters that no token has");
  http::ClientRequest out;
  out.method = std::move(method);
  out.url = base_ + path;
  out.connect_to = connect_to_;
  out.headers = {{"Accept", "application/json"}, {"User-Agent", "berth"}};
  if (!token.empty()) out.headers.emplace_back("Authorization", "Bearer " + token);
  out.verify = access_.verify;
  out.tls = tls_;
  out.proxy = access_.proxy;
  return out;
}

}  // namespace berth::kube
