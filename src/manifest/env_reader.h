// Tree -> a container's environment, and references to what is only known when it starts.
#ifndef BERTH_MANIFEST_ENV_READER_H_
#define BERTH_MANIFEST_ENV_READER_H_

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// A resourceFieldRef, of the environment or a volume, with its container and what it asks for checked.
void ReadResourceField(Object& field, const Node& spec, ResourceField& out);

/// env and envFrom. The service account's name becomes a value, everything else stays a reference.
/// `spec`: of the pod.
void ReadEnvironment(Object& container, const Node& spec, Container& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_ENV_READER_H_
