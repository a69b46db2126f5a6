// Tree -> how a pod is kept apart from its node and from other pods: namespaces, names, profiles, its own files.
#ifndef BERTH_MANIFEST_POD_ISOLATION_READER_H_
#define BERTH_MANIFEST_POD_ISOLATION_READER_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Fields of spec: namespaces, runtime class, DNS, hosts, names of secrets for images.
void ReadPodIsolation(Object& spec, Pod& out);
/// Fields of a container: its terminal and its input.
void ReadContainerIsolation(Object& container, Container& out);
/// Fields of a securityContext, of a pod or a container: AppArmor, SELinux.
void ReadSecurityIsolation(Object& security, SecurityContext& out);
/// Fields of a pod's: kernel settings.
void ReadSysctls(Object& security, SecurityContext& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_ISOLATION_READER_H_
