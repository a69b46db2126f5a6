// v1.ConfigMap and v1.Secret: documents beside pods, whose keys become variables and files of containers.
#ifndef BERTH_MODEL_DOCUMENT_H_
#define BERTH_MODEL_DOCUMENT_H_

#include <map>
#include <memory>
#include <string>

#include "model/pod.h"

namespace berth {

struct ConfigDocument {
  DocumentKind kind = DocumentKind::kConfigMap;
  std::string name;
  std::string namespace_ = "default";
  std::map<std::string, std::string> data;    ///< any bytes in a Secret; nothing of a Secret's is for logs or answers
  std::map<std::string, std::string> binary;  ///< of a ConfigMap: keys that are files only, any bytes
  std::string type;                           ///< of a Secret
  bool immutable = false;                     ///< its content is for good; another one takes another name
  friend bool operator==(const ConfigDocument&, const ConfigDocument&) = default;
};

/// "ConfigMap default/app".
std::string DocumentName(DocumentKind kind, const std::string& namespace_, const std::string& name);
inline std::string NameOf(const ConfigDocument& document) {
  return DocumentName(document.kind, document.namespace_, document.name);
}

/// By DocumentName.
using ConfigDocuments = std::map<std::string, std::shared_ptr<const ConfigDocument>>;

}  // namespace berth

#endif  // BERTH_MODEL_DOCUMENT_H_
