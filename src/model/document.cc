#include "model/document.h"

namespace berth {

std::string DocumentName(DocumentKind kind, const std::string& namespace_, const std::string& name) {
  return std::string(Name(kind)) + " " + namespace_ + "/" + name;
}

}  // namespace berth
