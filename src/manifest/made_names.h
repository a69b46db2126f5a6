// Names for objects that give a generateName, stable for the same file.
#ifndef BERTH_MANIFEST_MADE_NAMES_H_
#define BERTH_MANIFEST_MADE_NAMES_H_

#include <map>
#include <optional>
#include <string>

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"

namespace berth::manifest {

/// Of one text. Where an API server makes another name each time, here the same text gets the same names, so that
/// applying a file again changes what it made before.
class MadeNames {
 public:
  /// `origin`: what tells the text from others whose objects may have the same generateName.
  explicit MadeNames(std::string origin) : origin_(std::move(origin)) {}

  /// A copy of the object `node` with the name in it: its generateName (53 bytes of it at most) and 10 hex digits, made
  /// of the origin, kind, namespace and generateName, and of how many before it in the text have the same.
  /// nullopt: it has a name, or gives no generateName. A generateName that cannot be the start of a name is a problem.
  std::optional<Node> Named(const Node& node, const Path& path, Report& report);

 private:
  std::string origin_;
  std::map<std::string, int> seen_;  ///< how many so far, by kind, namespace and generateName
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_MADE_NAMES_H_
