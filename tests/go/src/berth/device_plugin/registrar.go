// The service pluginregistration.Registration, at the plug-in's own socket.
package main

import (
	"context"

	registration "berth/pluginregistration"
)

type Registrar struct {
	registration.UnimplementedRegistrationServer
	setup  *setup
	plugin *Plugin
}

func (r *Registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: "DevicePlugin", Name: r.setup.resource, SupportedVersions: []string{r.setup.version}}, nil
}

func (r *Registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if status.PluginRegistered {
		r.plugin.note("Registered", nil)
	} else {
		r.plugin.note("Register failed", nil, status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
