// What the plug-in has and how it behaves: a file that is read again whenever it changes.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	api "berth/deviceplugin"
)

// Behaviour of one call.
type Behaviour struct {
	delay time.Duration
	fail  string // words of the error; "": it answers
	hang  bool   // until the caller gives up, or the file says otherwise
}

// State is never changed: a new one takes its place.
type State struct {
	devices []*api.Device
	calls   map[string]Behaviour // by name: "Allocate", "ListAndWatch", ...
	prefer  []string             // ids GetPreferredAllocation names, whatever was offered; nil: the last ones offered
}

func parseDevice(words []string) (*api.Device, error) {
	device := &api.Device{ID: words[0], Health: "Healthy"}
	for _, word := range words[1:] {
		if word == "unhealthy" {
			device.Health = "Unhealthy"
			continue
		}
		if device.Topology == nil {
			device.Topology = &api.TopologyInfo{}
		}
		for _, text := range strings.Split(word, ",") {
			node, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("device %s: '%s' is no NUMA node", words[0], text)
			}
			device.Topology.Nodes = append(device.Topology.Nodes, &api.NUMANode{ID: node})
		}
	}
	return device, nil
}

func (state *State) take(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 {
		return fmt.Errorf("'%s': two words at least", line)
	}
	behaviour := state.calls[words[1]]
	switch words[0] {
	case "device":
		device, err := parseDevice(words[1:])
		if err != nil {
			return err
		}
		state.devices = append(state.devices, device)
		return nil
	case "prefer":
		state.prefer = words[1:]
		return nil
	case "delay":
		if len(words) != 3 {
			return fmt.Errorf("'%s': delay CALL TIME", line)
		}
		delay, err := time.ParseDuration(words[2])
		if err != nil {
			return err
		}
		behaviour.delay = delay
	case "fail":
		behaviour.fail = strings.Join(words[2:], " ")
		if behaviour.fail == "" {
			behaviour.fail = "it was told to"
		}
	case "hang":
		behaviour.hang = true
	default:
		return fmt.Errorf("'%s' is not known", words[0])
	}
	state.calls[words[1]] = behaviour
	return nil
}

func readState(path string) (*State, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	state := &State{calls: map[string]Behaviour{}}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := state.take(line); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return state, scanner.Err()
}
