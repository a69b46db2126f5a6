// Watch event of an object: set or gone; or the list is complete (synced).
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_H_

#include "kubernetes/kube_client/kube_object.h"

namespace berth::kube {

struct Change {
  enum class Kind {
    kSet,     ///< it is new, or has changed
    kGone,    ///< it is no more, or no longer among those selected; without text when that was found out later
    kSynced,  ///< what came before is the whole state, as of one moment. Comes again whenever it was asked for anew
  };
  Kind kind = Kind::kSet;
  Object object;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_CHANGE_H_
