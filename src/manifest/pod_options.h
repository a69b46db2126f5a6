// How strictly pods are read.
#ifndef BERTH_MANIFEST_POD_OPTIONS_H_
#define BERTH_MANIFEST_POD_OPTIONS_H_

namespace berth::manifest {

struct PodOptions {
  /// Refuse what only an API server can resolve (environment from secrets and configmaps); false: warn, for pods that
  /// are only looked at, as in a simulation.
  bool to_be_run = true;
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_OPTIONS_H_
