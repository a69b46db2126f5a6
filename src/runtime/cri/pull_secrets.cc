#include "runtime/cri/pull_secrets.h"

#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/text.h"

namespace berth::cri {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDockerHub = "index.docker.io";

/// Registry, or image, as host, port and path.
struct Place {
  std::string host;
  std::string port;
  std::string path;  ///< without slashes at its ends
};

Place PlaceOf(std::string_view text) {
  Place out;
  const std::size_t slash = text.find('/');
  std::string_view host = text.substr(0, slash);
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos && !host.ends_with(']')) {
    out.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  out.host = host;
  if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  out.path = slash == std::string_view::npos ? "" : std::string(text.substr(0, text.find_last_not_of('/') + 1));
  return out;
}

/// As it stands in a file of credentials: "https://registry.test:5000/v1/", "registry.test/team".
Place RegistryOf(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  Place out = PlaceOf(key);
  for (const std::string_view version : {"v1", "v2"}) {
    if (out.path == version) out.path.clear();
    if (out.path.starts_with(std::string(version) + "/")) out.path.erase(0, version.size() + 1);
  }
  if (out.host == "docker.io" || out.host == "registry-1.docker.io") out.host = kDockerHub;
  return out;
}

/// The first part of a name is a registry's if it could be no folder's: it has a dot or a port, or is "localhost".
Place ImagePlace(std::string_view image) {
  const std::size_t slash = image.find('/');
  const std::string_view first = slash == std::string_view::npos ? "" : image.substr(0, slash);
  const bool named = first.find_first_of(".:") != std::string_view::npos || first == "localhost";
  if (named) return RegistryOf(image);
  const std::string folder = slash == std::string_view::npos ? "library/" : "";
  return RegistryOf(std::string(kDockerHub) + "/" + folder + std::string(image));
}

bool HostFits(std::string_view pattern, std::string_view host) {
  const std::vector<std::string_view> wanted = Split(pattern, '.');
  const std::vector<std::string_view> labels = Split(host, '.');
  return std::ranges::equal(wanted, labels, [](std::string_view label_pattern, std::string_view label) {
    return ::fnmatch(std::string(label_pattern).c_str(), std::string(label).c_str(), FNM_NOESCAPE) == 0;
  });
}

bool Fits(const Place& registry, const Place& image) {
  return HostFits(registry.host, image.host) && registry.port == image.port && image.path.starts_with(registry.path);
}

std::string TextIn(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

/// nullopt: neither a name with a password nor a token.
std::optional<Credentials> CredentialsIn(const Json& entry) {
  if (!entry.is_object()) return std::nullopt;
  Credentials out{.username = TextIn(entry, "username"),
                  .password = TextIn(entry, "password"),
                  .identity_token = TextIn(entry, "identitytoken"),
                  .registry_token = TextIn(entry, "registrytoken")};
  if (const std::string both = TextIn(entry, "auth"); !both.empty()) {
    const auto text = FromBase64(both);
    const std::size_t colon = text ? text->find(':') : std::string::npos;
    if (colon == std::string::npos) return std::nullopt;
    out.username = text->substr(0, colon);
    out.password = text->substr(colon + 1);
    while (out.password.ends_with('\0')) out.password.pop_back();  // as old docker wrote them
  }
  if (out.username.empty() && out.identity_token.empty() && out.registry_token.empty()) return std::nullopt;
  return out;
}

/// The registries of a secret; why there are none.
Result<Json> RegistriesIn(const ConfigDocument& secret) {
  const bool old = secret.type == "kubernetes.io/dockercfg";
  if (!old && secret.type != "kubernetes.io/dockerconfigjson")
    return Fail(Code::kInvalid, "its type is not kubernetes.io/dockerconfigjson");
  const char* const key = old ? ".dockercfg" : ".dockerconfigjson";
  const auto data = secret.data.find(key);
  if (data == secret.data.end()) return Fail(Code::kInvalid, std::string("it has no key ") + key);
  Json all = Json::parse(data->second, nullptr, false);
  if (all.is_object() && !old) all = all.contains("auths") ? Json(all["auths"]) : Json();
  if (!all.is_object()) return Fail(Code::kInvalid, std::string("its ") + key + " is no list of registries");
  return all;
}

}  // namespace

PullSecrets PullSecretsFor(const Pod& pod, std::string_view image, const runtime::NodeFacts& node) {
  PullSecrets out;
  const Place place = ImagePlace(image);
  std::multimap<std::string, Credentials, std::greater<>>
      found;  // by registry, the longer of two that begin alike first
  for (const std::string& name : pod.image_pull_secrets) {
    const auto secret = runtime::FindDocument(node, pod, DocumentKind::kSecret, name);
    auto registries = secret ? RegistriesIn(**secret) : Result<Json>(std::unexpected(secret.error()));
    if (!registries) {
      out.problems.push_back("imagePullSecrets: secret \"" + Printable(name, 80) + "\": " + registries.error().message);
      continue;
    }
    for (const auto& [key, entry] : registries->items()) {
      const Place registry = RegistryOf(key);
      auto credentials = CredentialsIn(entry);
      if (credentials && Fits(registry, place))
        found.emplace(registry.host + ":" + registry.port + "/" + registry.path, *std::move(credentials));
    }
  }
  for (auto& [registry, credentials] : found)
    if (std::ranges::find(out.credentials, credentials) == out.credentials.end())
      out.credentials.push_back(std::move(credentials));
  return out;
}

}  // namespace berth::cri
