// All of libberth.
#ifndef BERTH_BERTH_H_
#define BERTH_BERTH_H_

#include "berth/load.h"     // machines, settings, devices, pods and ledgers from files and text
#include "berth/node.h"     // what becomes of a pod, and why
#include "berth/version.h"  // kVersion

#endif  // BERTH_BERTH_H_
