// The service DevicePlugin.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "berth/deviceplugin"
)

// What Allocate answers; %s in a text stands for the ids, joined by commas, or for each id where there is one each.
type Gifts struct {
	env         []string // NAME=VALUE
	mounts      []string // HOST:CONTAINER[:ro]
	nodes       []string // HOST:CONTAINER:PERMISSIONS, one for each device where it has %s
	annotations []string // NAME=VALUE
	cdi         []string // one for each device where it has %s
}

type Plugin struct {
	api.UnimplementedDevicePluginServer
	gifts   Gifts
	options *api.DevicePluginOptions

	mutex   sync.Mutex
	state   *State
	changed chan struct{} // closed when state is another
	ill     bool          // all devices, by signal
	log     *os.File
}

func newPlugin(state *State, gifts Gifts, options *api.DevicePluginOptions, log *os.File) *Plugin {
	return &Plugin{gifts: gifts, options: options, state: state, changed: make(chan struct{}), log: log}
}

// note writes one line of JSON: {"call": "Allocate", "ids": [...], ...}.
func (p *Plugin) note(call string, ids []string, more ...string) {
	line, _ := json.Marshal(map[string]any{"call": call, "ids": ids, "text": strings.Join(more, " ")})
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(p.log, "%s\n", line)
}

func (p *Plugin) set(change func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Plugin) current() (*State, bool, chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.state, p.ill, p.changed
}

// behave is slow, wrong or silent, as the state says for that call.
func (p *Plugin) behave(ctx context.Context, call string) error {
	state, _, changed := p.current()
	for state.calls[call].hang {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		state, _, changed = p.current()
	}
	behaviour := state.calls[call]
	select {
	case <-time.After(behaviour.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if behaviour.fail != "" {
		return status.Error(codes.Unknown, behaviour.fail)
	}
	return nil
}

func (p *Plugin) GetDevicePluginOptions(ctx context.Context, _ *api.Empty) (*api.DevicePluginOptions, error) {
	p.note("GetDevicePluginOptions", nil)
	return p.options, p.behave(ctx, "GetDevicePluginOptions")
}

func (p *Plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	p.note("ListAndWatch", nil)
	if err := p.behave(stream.Context(), "ListAndWatch"); err != nil {
		return err
	}
	for {
		state, ill, changed := p.current()
		answer := &api.ListAndWatchResponse{}
		for _, device := range state.devices {
			told := proto.Clone(device).(*api.Device)
			if ill {
				told.Health = "Unhealthy"
			}
			answer.Devices = append(answer.Devices, told)
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			p.note("ListAndWatch ended", nil)
			return nil
		}
	}
}

func (p *Plugin) GetPreferredAllocation(ctx context.Context, request *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	answer := &api.PreferredAllocationResponse{}
	state, _, _ := p.current()
	for _, container := range request.ContainerRequests {
		p.note("GetPreferredAllocation", container.AvailableDeviceIDs,
			fmt.Sprintf("%d of them, with", container.AllocationSize), strings.Join(container.MustIncludeDeviceIDs, ","))
		ids := state.prefer
		if ids == nil {
			ids = last(container.MustIncludeDeviceIDs, container.AvailableDeviceIDs, int(container.AllocationSize))
		}
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return answer, p.behave(ctx, "GetPreferredAllocation")
}

// last: those that must be, then the last ones offered: not what anybody would take unasked.
func last(must, offered []string, size int) []string {
	ids := append([]string{}, must...)
	for i := len(offered) - 1; i >= 0 && len(ids) < size; i-- {
		known := false
		for _, id := range ids {
			known = known || id == offered[i]
		}
		if !known {
			ids = append(ids, offered[i])
		}
	}
	return ids
}

// each replaces %s by every id; a text without %s stands for itself, once.
func each(text string, ids []string) []string {
	if !strings.Contains(text, "%s") {
		return []string{text}
	}
	var out []string
	for _, id := range ids {
		out = append(out, strings.ReplaceAll(text, "%s", id))
	}
	return out
}

func pair(text, ids string) (string, string) {
	name, value, _ := strings.Cut(text, "=")
	return name, strings.ReplaceAll(value, "%s", ids)
}

func (p *Plugin) answerTo(ids []string) *api.ContainerAllocateResponse {
	joined := strings.Join(ids, ",")
	out := &api.ContainerAllocateResponse{Envs: map[string]string{}, Annotations: map[string]string{}}
	for _, text := range p.gifts.env {
		name, value := pair(text, joined)
		out.Envs[name] = value
	}
	for _, text := range p.gifts.annotations {
		name, value := pair(text, joined)
		out.Annotations[name] = value
	}
	for _, text := range p.gifts.mounts {
		for _, one := range each(text, ids) {
			parts := strings.Split(one, ":")
			out.Mounts = append(out.Mounts, &api.Mount{HostPath: parts[0], ContainerPath: parts[1], ReadOnly: len(parts) > 2})
		}
	}
	for _, text := range p.gifts.nodes {
		for _, one := range each(text, ids) {
			parts := strings.Split(one, ":")
			out.Devices = append(out.Devices, &api.DeviceSpec{HostPath: parts[0], ContainerPath: parts[1], Permissions: parts[2]})
		}
	}
	for _, text := range p.gifts.cdi {
		for _, one := range each(text, ids) {
			out.CdiDevices = append(out.CdiDevices, &api.CDIDevice{Name: one})
		}
	}
	return out
}

func (p *Plugin) Allocate(ctx context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		p.note("Allocate", container.DevicesIds)
		answer.ContainerResponses = append(answer.ContainerResponses, p.answerTo(container.DevicesIds))
	}
	return answer, p.behave(ctx, "Allocate")
}

func (p *Plugin) PreStartContainer(ctx context.Context, request *api.PreStartContainerRequest) (*api.PreStartContainerResponse, error) {
	p.note("PreStartContainer", request.DevicesIds)
	return &api.PreStartContainerResponse{}, p.behave(ctx, "PreStartContainer")
}
