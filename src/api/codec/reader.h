// Strict reading of JSON values, field by field, with the path in every error. For this component and recorded cases of
// the command line.
#ifndef BERTH_API_CODEC_READER_H_
#define BERTH_API_CODEC_READER_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "base/id_set.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/units.h"
#include "model/own_rules.h"

namespace berth::codec {

/// A value and where it stands ("pods[2].name"). The first problem met is kept in the shared `Problem`; reads after it
/// return empty values, so that callers check once at the end.
class Reader {
 public:
  struct Problem {
    Code code = Code::kInvalid;  ///< code of the error to make
    std::optional<Error> error;
  };

  Reader(const Json& json, std::string path, Problem& problem)
      : json_(&json), path_(std::move(path)), problem_(&problem) {}

  bool IsNull() const { return json_->is_null(); }
  bool IsString() const { return json_->is_string(); }
  bool Has(const char* key) const { return json_->is_object() && json_->contains(key); }

  /// A field that must be there; reads as null after a problem.
  Reader Field(const char* key) const {
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (json_->is_object())
      if (const auto it = json_->find(key); it != json_->end()) return {*it, path, *problem_};
    Note(json_->is_object() ? "the field \"" + std::string(key) + "\" is missing" : "expected an object");
    return {Null(), path, *problem_};
  }

  std::vector<Reader> Items() const {
    std::vector<Reader> out;
    if (!json_->is_array()) {
      Note("expected an array");
      return out;
    }
    for (const Json& item : *json_) out.emplace_back(item, path_ + "[" + std::to_string(out.size()) + "]", *problem_);
    return out;
  }
  std::vector<std::pair<std::string, Reader>> Members() const {
    std::vector<std::pair<std::string, Reader>> out;
    if (!json_->is_object()) {
      Note("expected an object");
      return out;
    }
    for (const auto& [key, value] : json_->get_ref<const Json::object_t&>())
      out.emplace_back(key, Reader(value, path_.empty() ? key : path_ + "." + key, *problem_));
    return out;
  }

  std::string String() const {
    if (json_->is_string()) return json_->get_ref<const std::string&>();
    Note("expected a string");
    return {};
  }
  bool Bool() const {
    if (json_->is_boolean()) return json_->get<bool>();
    Note("expected true or false");
    return false;
  }
  template <std::integral Int>
  Int Integer() const {
    if (json_->is_number_unsigned()) {
      if (const auto v = json_->get<std::uint64_t>(); std::in_range<Int>(v)) return static_cast<Int>(v);
    } else if (json_->is_number_integer()) {
      if (const auto v = json_->get<std::int64_t>(); std::in_range<Int>(v)) return static_cast<Int>(v);
    }
    Note("expected an integer from " + std::to_string(std::numeric_limits<Int>::min()) + " to " +
         std::to_string(std::numeric_limits<Int>::max()));
    return 0;
  }
  double Decimal() const {
    if (json_->is_number()) return json_->get<double>();
    Note("expected a number");
    return 0;
  }
  Bytes Size() const { return {Integer<std::int64_t>()}; }

  /// CpuSet or NodeSet in the kernel's list format.
  template <class Set>
  Set Ids() const {
    auto set = Set::Parse(String());
    if (set) return *std::move(set);
    Note(set.error().message);
    return {};
  }
  /// An id that a set can hold.
  template <class Id>
  Id IdInSet() const {
    const auto raw = Integer<std::uint32_t>();
    if (raw > kMaxId) Note("ids above " + std::to_string(kMaxId) + " are not supported");
    return Id{raw > kMaxId ? 0 : raw};
  }
  /// As Quantity::ToString gave it, with the same text again.
  Quantity Amount() const {
    const std::string text = String();
    auto amount = Quantity::Parse(text);
    if (!amount) {
      Note(amount.error().message);
      return {};
    }
    // Bytes are not written in thousands, though a reader takes them for a decimal number.
    if (Quantity bytes = Quantity::FromBytes({amount->Value()}); amount->ToString() != text && bytes.ToString() == text)
      return bytes;
    return *std::move(amount);
  }
  ResourceList Resources() const {
    ResourceList out;
    for (const auto& [name, value] : Members()) out.emplace(name, value.Amount());
    return out;
  }
  std::vector<std::string> Strings() const {
    std::vector<std::string> out;
    for (const Reader& item : Items()) out.push_back(item.String());
    return out;
  }

  /// One of `values`, by its Name().
  template <class Enum, std::size_t N>
  Enum OneOf(const Enum (&values)[N]) const {
    const std::string name = String();
    for (const Enum value : values)
      if (name == Name(value)) return value;
    Note("unknown value \"" + name + "\"");
    return values[0];
  }

  /// Keeps the first problem: "<path>: <what>".
  void Note(const std::string& what) const {
    if (!problem_->error) problem_->error = Error{problem_->code, 0, (path_.empty() ? "" : path_ + ": ") + what};
  }

 private:
  static const Json& Null() {
    static const Json null;
    return null;
  }

  const Json* json_;
  std::string path_;
  Problem* problem_;
};

/// Berth's own settings of decisions, the field "own" of `of`; the defaults where there is none.
OwnRules ReadOwnRules(const Reader& of);

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_READER_H_
