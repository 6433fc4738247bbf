// Remarks: what an optimization did or could not do, for `explain` and --remarks. Never an error.
#pragma once

#include <string>
#include <vector>

namespace palimpsest {

struct Remark {
  std::string pass;   // "reinplace"
  std::string kind;   // "copied", "stride-mismatch", ...: one word, stable
  std::string place;  // the user's source line, "" if unknown
  std::string text;
};

class RemarkSink {
 public:
  void Add(Remark remark) { remarks_.push_back(std::move(remark)); }
  const std::vector<Remark>& remarks() const { return remarks_; }

 private:
  std::vector<Remark> remarks_;
};

}  // namespace palimpsest
