#include "kubernetes/kube_client/access.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/base64.h"
#include "base/name_validation.h"
#include "base/text.h"
#include "config/config_file.h"
#include "manifest/field_reader.h"
#include "rpc/http/url.h"

namespace berth::kube {
namespace {

using Fields = manifest::Object;

/// An entry of one of the three lists, and the file that has it.
struct Entry {
  const manifest::Node* node = nullptr;
  const KubeconfigFile* file = nullptr;
};

struct Merged {
  std::map<std::string, Entry> clusters;
  std::map<std::string, Entry> users;
  std::map<std::string, Entry> contexts;
  std::string current;
};

/// Says nothing of what is there instead: it may be a secret in the wrong place.
bool IsObject(const manifest::Node& node, const manifest::Path& path, manifest::Report& report) {
  if (node.kind == manifest::Node::Kind::kMap) return true;
  report.Problem(path, "expected an object");
  return false;
}

void TakeEntries(Fields& root, std::string_view list, std::string_view field, const KubeconfigFile& file,
                 std::map<std::string, Entry>& out) {
  root.Each(list, [&](const manifest::Node& node, const manifest::Path& path) {
    if (!IsObject(node, path, root.report())) return;
    Fields entry(node, path, root.report());
    std::string name;
    entry.Read("name", name);
    const manifest::Node* const value = entry.Take(field);
    if (value != nullptr && IsObject(*value, entry.PathOf(field), root.report()))
      out.try_emplace(name, Entry{value, &file});
  });
}

void ReadFile(const manifest::Node& root, const KubeconfigFile& file, manifest::Report& report, Merged& out) {
  const manifest::Path top;
  Fields object(root, top, report);
  config::CheckTypeMeta(object, {.api_version = "v1", .kind = "Config"}, false);
  std::string current;
  object.Read("current-context", current);
  if (out.current.empty()) out.current = current;
  TakeEntries(object, "clusters", "cluster", file, out.clusters);
  TakeEntries(object, "users", "user", file, out.users);
  TakeEntries(object, "contexts", "context", file, out.contexts);
}

/// Reads one entry, with its file's name in messages.
class EntryReader {
 public:
  EntryReader(const Entry& entry, std::string_view what, std::string_view name)
      : file_(*entry.file),
        key_(fmt::format("{} \"{}\"", what, Printable(name))),
        path_{.key = key_},
        object_(*entry.node, path_, report_) {}

  Fields& object() { return object_; }
  std::string Text(std::string_view key) {
    std::string out;
    object_.Read(key, out);
    return out;
  }
  /// As Text, but no message quotes it.
  std::string Secret(std::string_view key) {
    const manifest::Node* const node = object_.Take(key);
    if (node == nullptr) return {};
    if (node->kind == manifest::Node::Kind::kString) return node->text;
    Problem(key, "expected a string; put it in quotes");
    return {};
  }
  std::string File(std::string_view key) { return config::ResolveBeside(file_.path, Text(key)); }
  Pem ReadPem(const std::string& key) {
    Pem out{.file = File(key), .data = {}};
    std::string text = Secret(key + "-data");
    std::erase_if(text, [](char c) { return Trim(std::string_view(&c, 1)).empty(); });
    const auto data = FromBase64(text);
    if (!data) Problem(key + "-data", "this is no base64");
    out.data = data.value_or("");
    return out;
  }
  void Problem(std::string_view key, std::string text) { report_.Problem(object_.PathOf(key), std::move(text)); }
  Result<void> End() const { return config::ErrorOf(report_, file_.path); }
  /// For what Berth has no part in.
  std::unexpected<Error> Unsupported(std::string_view why) const {
    return Fail(
        Code::kUnsupported,
        fmt::format("{}: {}: {}; give this user a tokenFile, a token or a client-certificate with its client-key",
                    file_.path, key_, why));
  }

 private:
  const KubeconfigFile& file_;
  std::string key_;
  manifest::Path path_;
  manifest::Report report_;
  Fields object_;
};

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && IsIpAddress(host));
}

/// Without a slash at its end. Errors: kInvalid.
Result<std::string> CheckServer(const std::string& server) {
  BERTH_TRY(const http::Url url, http::ParseUrl(server, "server", "give them in users"));
  if (!url.tls && !IsLoopback(url.host))
    return Fail(Code::kInvalid, "server: only over https are credentials safe on their way; write https://HOST[:PORT]");
  if (url.target.contains('?')) return Fail(Code::kInvalid, "server: a query has no place there; leave it out");
  std::string out = fmt::format("{}://{}{}", url.tls ? "https" : "http", http::Authority(url), url.target);
  while (out.ends_with('/')) out.pop_back();
  return out;
}

bool IsServerName(std::string_view name) {
  const auto in_a_name = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("-._:").contains(c);
  };
  return std::ranges::all_of(name, in_a_name);
}

bool IsProxy(std::string_view url) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"http://", "https://", "socks5://"}, [&](auto scheme) {
    return url.starts_with(scheme) && url.size() > scheme.size() && url[scheme.size()] != '/' &&
           std::ranges::all_of(url, [](char c) { return c > ' ' && c < 0x7f; });
  });
}

/// What is between us and the server.
void CheckWay(const Access& access, EntryReader& reader) {
  const bool tls = access.server.starts_with("https://");
  if (!tls && !access.server_name.empty())
    reader.Problem("tls-server-name", "a server of plain http has no certificate; leave it out");
  if (!IsServerName(access.server_name))
    reader.Problem("tls-server-name", "it holds characters that no server's name has");
  if (access.proxy.empty()) return;
  if (!tls) reader.Problem("proxy-url", "plain http is for the loopback, which no proxy leads to; leave it out");
  // Not quoted: it may hold a password.
  if (!IsProxy(access.proxy))
    reader.Problem("proxy-url", "write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT");
}

Result<void> ReadCluster(const Entry& entry, std::string_view name, Access& out) {
  EntryReader reader(entry, "cluster", name);
  bool insecure = false;
  reader.object().Read("insecure-skip-tls-verify", insecure);
  out.verify = !insecure;
  out.authorities = reader.ReadPem("certificate-authority");
  if (insecure && !out.authorities.empty())
    reader.Problem("insecure-skip-tls-verify", "with a certificate-authority it makes no sense; leave one of them out");
  out.server_name = reader.Text("tls-server-name");
  out.proxy = reader.Secret("proxy-url");
  const std::string server = reader.Text("server");
  BERTH_RETURN_IF_ERROR(reader.End());
  auto checked = CheckServer(server);
  if (!checked)
    return Wrap(std::move(checked).error(), fmt::format("{}: cluster \"{}\"", entry.file->path, Printable(name)));
  out.server = *std::move(checked);
  CheckWay(out, reader);
  return reader.End();
}

Result<void> ReadUser(const Entry& entry, std::string_view name, Access& out) {
  EntryReader reader(entry, "user", name);
  Fields& user = reader.object();
  if (user.Take("exec") != nullptr)
    return reader.Unsupported("exec has a program give the credentials, which Berth does not run");
  if (user.Take("auth-provider") != nullptr) return reader.Unsupported("no auth-provider is known");
  if (user.Take("username") != nullptr || user.Take("password") != nullptr)
    return reader.Unsupported("servers no longer take user names with passwords");
  for (const char* const key : {"as", "as-uid", "as-groups", "as-user-extra"})
    if (user.Take(key) != nullptr) return reader.Unsupported(fmt::format("\"{}\": Berth acts for nobody else", key));
  out.certificate = reader.ReadPem("client-certificate");
  out.key = reader.ReadPem("client-key");
  out.token = reader.Secret("token");
  out.token_file = reader.File("tokenFile");
  if (out.certificate.empty() != out.key.empty())
    reader.Problem("client-certificate", "client-certificate and client-key are a pair; give both");
  return reader.End();
}

Result<const Entry*> Named(const std::map<std::string, Entry>& entries, std::string_view what,
                           const std::string& name) {
  const auto found = entries.find(name);
  if (found != entries.end()) return &found->second;
  return Fail(Code::kInvalid, fmt::format("there is no {} \"{}\"", what, Printable(name)));
}

Result<Access> ReadContext(const Merged& merged, std::string_view context) {
  const std::string name(context.empty() ? std::string_view(merged.current) : context);
  if (name.empty()) return Fail(Code::kInvalid, "there is no current-context; set it, or name a context");
  BERTH_TRY(const Entry* const entry, Named(merged.contexts, "context", name));
  EntryReader reader(*entry, "context", name);
  const std::string cluster = reader.Text("cluster");
  const std::string user = reader.Text("user");
  const std::string space = reader.Text("namespace");
  BERTH_RETURN_IF_ERROR(reader.End());
  Access out;
  if (!space.empty()) out.namespace_ = space;
  BERTH_TRY(const Entry* const cluster_entry, Named(merged.clusters, "cluster", cluster));
  BERTH_RETURN_IF_ERROR(ReadCluster(*cluster_entry, cluster, out));
  if (user.empty()) return out;
  BERTH_TRY(const Entry* const user_entry, Named(merged.users, "user", user));
  BERTH_RETURN_IF_ERROR(ReadUser(*user_entry, user, out));
  return out;
}

}  // namespace

Result<Access> ReadKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context) {
  std::vector<manifest::Document> documents;  // entries point into them
  documents.reserve(files.size());
  Merged merged;
  for (const KubeconfigFile& file : files) {
    BERTH_TRY(documents.emplace_back(), config::ReadOnlyDocument(file.text, file.path));
    manifest::Report report;
    ReadFile(documents.back().root, file, report, merged);
    BERTH_RETURN_IF_ERROR(config::ErrorOf(report, file.path));
  }
  auto access = ReadContext(merged, context);
  if (!access && files.size() == 1 && !access.error().message.starts_with(files.front().path))
    return Wrap(std::move(access).error(), files.front().path);
  return access;
}

Result<Access> LoadKubeconfig(os::Fs& fs, std::string_view paths, std::string_view context) {
  std::vector<KubeconfigFile> files;
  for (const std::string_view path : Split(paths, ':')) {
    if (path.empty()) continue;
    auto text = fs.Read(path);
    if (!text && text.error().code == Code::kNotFound && paths.contains(':')) continue;
    if (!text) return std::unexpected(std::move(text).error());
    files.push_back({.path = std::string(path), .text = *std::move(text)});
  }
  if (files.empty()) return Fail(Code::kNotFound, fmt::format("there is no kubeconfig in \"{}\"", Printable(paths)));
  return ReadKubeconfig(files, context);
}

Result<Access> LoadServiceAccount(os::Fs& fs, const PodEnvironment& pod) {
  const auto port = ParseDecimal<int>(pod.port);
  if (pod.host.empty() || !port)
    return Fail(Code::kNotFound,
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, as they are in a pod; name a "
                "kubeconfig instead");
  BERTH_TRY(std::string server,
            CheckServer("https://" + http::Authority({.tls = true, .host = pod.host, .port = *port, .target = {}})));
  Access out{.server = std::move(server),
             .server_name = {},
             .authorities = {.file = pod.folder + "/ca.crt", .data = {}},
             .certificate = {},
             .key = {},
             .token = {},
             .token_file = pod.folder + "/token",
             .proxy = {}};
  for (const std::string& file : {out.authorities.file, out.token_file}) BERTH_RETURN_IF_ERROR(fs.Read(file));
  if (const auto space = fs.Read(pod.folder + "/namespace"); space && !Trim(*space).empty())
    out.namespace_ = Trim(*space);
  return out;
}

Result<Access> LoadOwnAccess(os::Fs& fs, const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return LoadKubeconfig(fs, kubeconfig);
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  return LoadServiceAccount(fs,
                            {.host = variable("KUBERNETES_SERVICE_HOST"), .port = variable("KUBERNETES_SERVICE_PORT")});
}

}  // namespace berth::kube
