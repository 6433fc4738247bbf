// Bases: the storages of a program and the newest version of each. Internal to functionalize/.
//
// Note [Bases]. A base is a storage, found by identity, not by a tensor's memory of its parent: it
// works the same for inputs that share a storage, for partial overlap, and for programs that were
// traced in inference mode. One functional value stands for the contents of the whole storage: the
// *base tensor*. Its layout never changes. A write makes a new version of it; every view of the
// storage is had from the newest version when it is read, by one operation (analysis/view_info.h),
// so that there are no chains of scatters or of views.
//
//   storage of x:   version 0: x        version 1: getitem_1        version 2: scatter_view
//                      \- select(x, 0, 0)      \- select(getitem_1, 0, 0)
//
// The layout is that of the first tensor that covers the storage densely. Where there is none, it
// is 1-d in the first tensor's dtype: palimpsest.storage(x). That node is made when the first write
// comes; until then views are had from the tensors that are there.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "ir/emitter.h"
#include "palimpsest/value.h"

namespace palimpsest::functionalize {

using BaseId = Id<struct BaseTag>;

class Bases {
 public:
  explicit Bases(ir::Emitter* emit) : emit_(emit) {}

  // A tensor of the functional graph that exists as `node`: an input, or a fresh result. Makes the
  // base if its storage is new.
  void Add(const Tensor& tensor, ir::NodeId node, bool is_input);
  bool Has(const Tensor& tensor) const { return index_.contains(tensor.storage.get()); }
  BaseId Of(const Tensor& tensor) const;

  // The value of a tensor now: from the newest version of its base.
  Result<ir::NodeId> Read(const Tensor& tensor);
  // The base tensor's newest version.
  Result<ir::NodeId> Newest(BaseId id);
  const View& Layout(BaseId id) const { return base(id).layout; }
  // Is `tensor` the tensor object that the base was made from?
  bool IsBaseObject(const Tensor& tensor) const;
  // `node` is the base tensor's new version.
  void SetNewest(BaseId id, ir::NodeId node);
  // The elements of `written` (any view of the base) become those of `value`, a node whose layout
  // is `value_view`. No scatter is made if the value simply is the new base.
  Status Write(const Tensor& written, ir::NodeId value, const View& value_view);

  // Bases of inputs that were written, in order of appearance.
  std::vector<ir::WriteBack> WriteBacks();

 private:
  struct ViewHash {
    size_t operator()(const View& view) const;
  };
  struct Base {
    View layout;        // of the base tensor
    ir::NodeId newest;  // invalid: the base tensor has no node yet
    Tensor first;       // the tensor it was made from, and its node
    ir::NodeId first_node;
    ir::NodeId input;    // the input that stands for it in a write-back; else invalid
    bool dense = false;  // some tensor covers the storage: no 1-d base tensor is needed
    bool written = false;
    // Views of the newest version that exist as nodes.
    std::unordered_map<View, ir::NodeId, ViewHash> views;
  };
  Base& base(BaseId id) { return bases_[static_cast<size_t>(id.index)]; }
  const Base& base(BaseId id) const { return bases_[static_cast<size_t>(id.index)]; }
  Result<ir::NodeId> EmitView(const Base& b, const View& view);

  ir::Emitter* emit_;
  std::vector<Base> bases_;
  std::unordered_map<const Storage*, BaseId> index_;
};

}  // namespace palimpsest::functionalize
