// API server address and credentials: from a kubeconfig, or a pod's service account (in-cluster).
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_ACCESS_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_ACCESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"

namespace berth::kube {

/// Certificates or a key in PEM: in a file, read again for each request, or at hand.
struct Pem {
  std::string file;
  std::string data;  ///< beats the file
  bool empty() const { return file.empty() && data.empty(); }
  friend bool operator==(const Pem&, const Pem&) = default;
};

struct Access {
  std::string server;       ///< "https://host:port" or with a path behind it, without a slash at the end
  std::string server_name;  ///< the certificate is for this name; "": for the server's host
  bool verify = true;
  Pem authorities;  ///< empty: the system's
  Pem certificate;  ///< ours
  Pem key;
  std::string token;
  std::string token_file;  ///< beats the token; read again for each request
  std::string proxy;       ///< "": none
  std::string namespace_ = "default";
  friend bool operator==(const Access&, const Access&) = default;
};

struct KubeconfigFile {
  std::string path;  ///< relative paths in it count from its folder
  std::string text;
};
/// What `context` says, "": the current one. Of several files the first that has a name gives it its meaning. Errors:
/// kInvalid; kUnsupported for credentials that another program would have to give. Each names the file and the cure.
/// Pure.
Result<Access> ReadKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context = {});

/// `paths`: as in $KUBECONFIG, with ':' between them; of several those that are missing are left out. `fs`: of "/".
/// Errors: as above, kNotFound when there is none.
Result<Access> LoadKubeconfig(os::Fs& fs, std::string_view paths, std::string_view context = {});

/// What the kubelet gives to a container of a pod.
struct PodEnvironment {
  std::string host;  ///< $KUBERNETES_SERVICE_HOST
  std::string port;  ///< $KUBERNETES_SERVICE_PORT
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
/// Errors: kNotFound outside of a pod.
Result<Access> LoadServiceAccount(os::Fs& fs, const PodEnvironment& pod);

/// Of this program: what the kubeconfig says, or with "" the service account of the pod it is in, which its environment
/// tells. Errors: of the two above.
Result<Access> LoadOwnAccess(os::Fs& fs, const std::string& kubeconfig);

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_ACCESS_H_
