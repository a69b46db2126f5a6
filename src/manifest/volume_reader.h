// Tree -> a pod's volumes, and what containers mount of them.
#ifndef BERTH_MANIFEST_VOLUME_READER_H_
#define BERTH_MANIFEST_VOLUME_READER_H_

#include <string>
#include <string_view>

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// `spec`: of the pod; files of the downward API name its containers.
void ReadVolume(const Node& node, const Path& path, const Node& spec, Report& report, Volume& out);
/// v1.HostPathVolumeSource.
void ReadHostPath(Object& source, Volume& out);
/// An absolute path that does not lead up.
void CheckMountPath(Object& object, std::string_view field, const std::string& path);
void ReadVolumeMount(const Node& node, const Path& path, Report& report, VolumeMount& out);

/// What only a pod that is to be run has to keep: its volumes have names of their own, its containers mount what is
/// there, each at places of their own, and huge pages of a volume are among those they ask for.
void CheckVolumes(const Pod& pod, const Path& root, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_VOLUME_READER_H_
