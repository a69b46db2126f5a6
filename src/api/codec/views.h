// JSON encoding and decoding of API responses about berthd, its node and its pods (docs/reference/api.md). Sets,
// amounts and names as in codec.h, times in RFC 3339.
//
// Errors of all readers: kInvalid naming the field. Unknown fields are ignored. A value that was read gives the JSON it
// was read from.
#ifndef BERTH_API_CODEC_VIEWS_H_
#define BERTH_API_CODEC_VIEWS_H_

#include "api/codec/codec.h"
#include "base/result.h"
#include "model/daemon_status.h"
#include "model/defrag.h"
#include "model/device.h"
#include "model/event.h"
#include "model/explanation.h"
#include "model/node_snapshot.h"
#include "model/operation_results.h"
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "model/tree_view.h"

namespace berth::codec {

Json ToJson(const DaemonStatus& status);
Json ToJson(const Health& health);
Json ToJson(const NodeView& node);
Json ToJson(const DeviceInventory& devices);  ///< as `--devices` of berth simulate takes it
Json ToJson(const PodView& pod, const CpuSet& shared);
Json ToJson(const PodList& pods);
Json ToJson(const PodDetails& pod);
Json ToJson(const TreeView& tree);
Json ToJson(const Event& event);
Json ToJson(const EventList& events);
Json ToJson(const StoredPod& pod);
Json ToJson(const StoredPods& pods);
Json ToJson(const DeletedPod& pod);
Json ToJson(const RestartedPod& pod);
Json ToJson(const LogEntry& entry);
Json ToJson(const LogPage& page);
Json ToJson(const CommandEnd& end);  ///< outputs in base64
Json ToJson(const ImageList& images);
Json ToJson(const ImportedImages& images);
Json ToJson(const StatsSummary& summary);  ///< in a kubelet's shape
Json ToJson(const Outlook& outlook);
Json ToJson(const MoveRequest& request);
Json ToJson(const Move& move);
Json ToJson(const DefragPlan& plan);

Result<DaemonStatus> DaemonStatusFromJson(const Json& json);
Result<Health> HealthFromJson(const Json& json);
Result<NodeView> NodeViewFromJson(const Json& json);
Result<DeviceInventory> DeviceInventoryFromJson(const Json& json);
Result<PodList> PodListFromJson(const Json& json);
Result<PodDetails> PodDetailsFromJson(const Json& json);
Result<TreeView> TreeViewFromJson(const Json& json);
Result<EventList> EventListFromJson(const Json& json);
Result<StoredPods> StoredPodsFromJson(const Json& json);
Result<DeletedPod> DeletedPodFromJson(const Json& json);
Result<RestartedPod> RestartedPodFromJson(const Json& json);
Result<LogPage> LogPageFromJson(const Json& json);
Result<CommandEnd> CommandEndFromJson(const Json& json);
Result<ImageList> ImageListFromJson(const Json& json);
Result<StatsSummary> StatsSummaryFromJson(const Json& json);
Result<Outlook> OutlookFromJson(const Json& json);
Result<MoveRequest> MoveRequestFromJson(const Json& json);
Result<Move> MoveFromJson(const Json& json);

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_VIEWS_H_
