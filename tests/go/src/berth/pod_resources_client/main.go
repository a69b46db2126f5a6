// A client of the pod resources API, v1, of Go's gRPC library: makes one call and prints the answer as JSON with the
// interface's names.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	api "berth/podresources"
)

const usage = "usage: pod_resources_client SOCKET list|allocatable|get [NAMESPACE NAME]\n"

func call(client api.PodResourcesListerClient, ctx context.Context, args []string) (proto.Message, error) {
	// The kubelet's longest message.
	most := grpc.MaxCallRecvMsgSize(16 << 20)
	switch {
	case len(args) == 1 && args[0] == "list":
		return client.List(ctx, &api.ListPodResourcesRequest{}, most)
	case len(args) == 1 && args[0] == "allocatable":
		return client.GetAllocatableResources(ctx, &api.AllocatableResourcesRequest{}, most)
	case len(args) == 3 && args[0] == "get":
		return client.Get(ctx, &api.GetPodResourcesRequest{PodNamespace: args[1], PodName: args[2]}, most)
	}
	fmt.Fprint(os.Stderr, usage)
	os.Exit(2)
	return nil, nil
}

func main() {
	times := flag.Int("times", 1, "call so often, one after the other; the last answer is printed")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	connection, err := grpc.NewClient("unix://"+flag.Arg(0), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := api.NewPodResourcesListerClient(connection)
	var answer proto.Message
	refused := 0
	for i := 0; i < *times; i++ {
		got, err := call(client, ctx, flag.Args()[1:])
		if err == nil {
			answer = got
			continue
		}
		refused++
		if *times == 1 {
			fmt.Fprintf(os.Stderr, "%s: %s\n", status.Code(err), status.Convert(err).Message())
			os.Exit(1)
		}
	}
	if *times > 1 {
		fmt.Fprintf(os.Stderr, "%d of %d refused\n", refused, *times)
	}
	if answer != nil {
		fmt.Println(protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(answer))
	}
}
