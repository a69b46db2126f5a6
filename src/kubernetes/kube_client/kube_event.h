// Events of an API server: what Berth has to say about an object (events.k8s.io/v1).
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_KUBE_EVENT_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_KUBE_EVENT_H_

#include <string>

#include "base/time_text.h"
#include "kubernetes/kube_client/kube_client.h"

namespace berth::kube {

struct ObjectReference {
  std::string api_version = "v1";
  std::string kind;
  ObjectKey key;
  std::string uid;
  std::string field_path;  ///< "spec.containers{app}"; "": all of it
};

struct EventNote {
  ObjectReference regarding;
  std::string controller = "berth.dev/berthd";  ///< a qualified name
  std::string instance;                         ///< of the controller: the node's name
  std::string action;                           ///< one word: what was done, or tried
  std::string reason;                           ///< one word
  std::string note;                             ///< a sentence; cut where servers take no more
  bool warning = false;
};

/// Where the event is created: beside its object, or in kube-system, which is what servers up to 1.20 ask for, too.
Target TargetOf(const EventNote& event);
/// Its text. The name is the object's with the time, of which no two events of an object may have the same.
std::string FormatEvent(const EventNote& event, WallTime now);

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_KUBE_EVENT_H_
