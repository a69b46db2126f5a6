// For somebody who keeps the books of an admission otherwise than a node does.
#ifndef BERTH_ALLOCATOR_ADMISSION_BOOK_KEEPER_H_
#define BERTH_ALLOCATOR_ADMISSION_BOOK_KEEPER_H_

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"

namespace berth::allocator {

/// Told what an admission is about to ask of which manager, and free to change the books before. No node has one.
class BookKeeper {
 public:
  virtual ~BookKeeper() = default;
  /// The books of a pod were opened; nothing has been asked yet.
  virtual void Open(PodBooks& books) = 0;
  /// All managers are asked for hints next: for a container, or once for the whole pod.
  virtual void BeforeHints(PodBooks& books) = 0;
  /// One of them allocates next, for this container.
  virtual void BeforeDevices(PodBooks& books, const ContainerDemand& demand) = 0;
  virtual void BeforeCpus(PodBooks& books) = 0;
  virtual void BeforeMemory(PodBooks& books) = 0;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_BOOK_KEEPER_H_
