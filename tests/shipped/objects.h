// Objects of a cluster as the files of packaging/kubernetes make them, without a cluster.
#ifndef BERTH_TESTS_SHIPPED_OBJECTS_H_
#define BERTH_TESTS_SHIPPED_OBJECTS_H_

#include <yaml-cpp/yaml.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

using Objects = std::vector<YAML::Node>;

/// What `kubectl kustomize` makes of a base below packaging/kubernetes, but for the namespace and the sums in names of
/// ConfigMaps, and `helm template` of a chart there with the values it comes with: `tools/check_chart --print`.
Objects Printed(const std::string& folder);
/// What an API server makes of the object with the JSON patch of a file below packaging/kubernetes.
YAML::Node Patched(const YAML::Node& object, const std::string& file);
/// A test failure, and an object without fields, when there is none.
YAML::Node ObjectIn(const Objects& objects, std::string_view kind, std::string_view name);

/// A test failure for each field beside these: whoever reads the rest would pass it over.
void ExpectOnly(const YAML::Node& node, const std::string& what, std::initializer_list<std::string_view> fields);

}  // namespace berth

#endif  // BERTH_TESTS_SHIPPED_OBJECTS_H_
