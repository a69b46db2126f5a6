// A device plug-in of Go's gRPC library, as those that people run: registers, lists its devices and their health, answers
// allocations, and registers anew when the kubelet's socket is made anew. Usage: tests/go/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	api "berth/deviceplugin"
	registration "berth/pluginregistration"
)

const kubeletSocket = "kubelet.sock"

// A flag that may be given often.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

type setup struct {
	dir, registry, endpoint, resource, version, state, log string
	options                                                api.DevicePluginOptions
	gifts                                                  Gifts
}

func parse() *setup {
	s := &setup{}
	flag.StringVar(&s.dir, "dir", "/var/lib/kubelet/device-plugins", "the kubelet's folder")
	flag.StringVar(&s.registry, "registry", "", "folder where it waits to be found, with its socket, in place of registering")
	flag.StringVar(&s.endpoint, "endpoint", "berth-test.sock", "own socket, in that folder")
	flag.StringVar(&s.resource, "resource", "vendor.example/device", "name of the resource")
	flag.StringVar(&s.version, "version", "v1beta1", "version it registers with")
	flag.StringVar(&s.state, "state", "", "file with devices and behaviour")
	flag.StringVar(&s.log, "log", "", "file to note calls in, a line of JSON each; stdout unless given")
	flag.BoolVar(&s.options.PreStartRequired, "prestart", false, "asks for PreStartContainer")
	flag.BoolVar(&s.options.GetPreferredAllocationAvailable, "preferred", false, "answers GetPreferredAllocation")
	flag.Var((*list)(&s.gifts.env), "env", "NAME=VALUE of Allocate's answer; %s: the ids")
	flag.Var((*list)(&s.gifts.mounts), "mount", "HOST:CONTAINER[:ro]; %s: one for each id")
	flag.Var((*list)(&s.gifts.nodes), "device-node", "HOST:CONTAINER:PERMISSIONS; %s: one for each id")
	flag.Var((*list)(&s.gifts.annotations), "annotation", "NAME=VALUE; %s: the ids")
	flag.Var((*list)(&s.gifts.cdi), "cdi", "name of a CDI device; %s: one for each id")
	flag.Parse()
	return s
}

// serve listens at the plug-in's own socket.
func serve(s *setup, plugin *Plugin) (*grpc.Server, error) {
	path := filepath.Join(s.dir, s.endpoint)
	if s.registry != "" {
		path = filepath.Join(s.registry, s.endpoint)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, plugin)
	registration.RegisterRegistrationServer(server, &Registrar{setup: s, plugin: plugin})
	go server.Serve(listener)
	return server, nil
}

func register(s *setup) error {
	connection, err := grpc.NewClient("unix://"+filepath.Join(s.dir, kubeletSocket),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: s.version, Endpoint: s.endpoint, ResourceName: s.resource, Options: &s.options})
	return err
}

// stamp tells one version of a file from the next.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), info.Sys().(*syscall.Stat_t).Ino)
}

func run(s *setup) error {
	log := os.Stdout
	if s.log != "" {
		file, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		log = file
	}
	seen := stamp(s.state)
	state, err := readState(s.state)
	if err != nil {
		return err
	}
	plugin := newPlugin(state, s.gifts, &s.options, log)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(s.dir); err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGUSR2)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()

	var server *grpc.Server
	var again <-chan time.Time
	start := func() {
		if server != nil {
			server.Stop()
		}
		var err error
		if server, err = serve(s, plugin); err != nil {
			plugin.note("Serve failed", nil, err.Error())
			again = time.After(300 * time.Millisecond)
			return
		}
		if s.registry != "" {
			again = nil
			return
		}
		if err := register(s); err != nil {
			plugin.note("Register failed", nil, err.Error())
			again = time.After(300 * time.Millisecond)
			return
		}
		again = nil
		plugin.note("Registered", nil)
	}
	start()
	for {
		select {
		case <-again:
			start()
		case event := <-watcher.Events:
			if s.registry == "" && filepath.Base(event.Name) == kubeletSocket && event.Has(fsnotify.Create) {
				start()
			}
		case err := <-watcher.Errors:
			return err
		case <-look.C:
			now := stamp(s.state)
			if now == seen || now == "" {
				continue
			}
			seen = now
			if state, err := readState(s.state); err != nil {
				plugin.note("State not read", nil, err.Error())
			} else {
				plugin.set(func() { plugin.state = state })
			}
		case got := <-signals:
			switch got {
			case syscall.SIGUSR1:
				plugin.set(func() { plugin.ill = true })
			case syscall.SIGUSR2:
				plugin.set(func() { plugin.ill = false })
			default:
				if server != nil {
					server.Stop()
				}
				return nil
			}
		}
	}
}

func main() {
	s := parse()
	if flag.NArg() > 0 || s.state == "" {
		fmt.Fprintln(os.Stderr, "usage: device_plugin --state FILE [options]; --help lists them")
		os.Exit(2)
	}
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "device_plugin:", err)
		os.Exit(1)
	}
}
