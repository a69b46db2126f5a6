"""A berthd that plays a machine and serves its page: nothing runs, and everything is decided."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: restricted
reservedSystemCPUs: "0"
maxPods: 5000
evictionHard: {memory.available: 0%}
"""
BERTH = """apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
kubeletConfig: kubelet.yaml
nodeName: node1
maxEvents: 20000
manifestOwners: any
"""


def pod(name, cpu=None, memory="64Mi", namespace="default", image="example", request="50m"):
    """A Guaranteed pod with `cpu` CPUs, or a Burstable one."""
    limits = f"limits: {{cpu: {cpu}, memory: {memory}}}" if cpu else f"requests: {{cpu: {request}, memory: {memory}}}"
    return (f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
            f"spec:\n  containers:\n  - name: app\n    image: {image!r}\n    resources: {{{limits}}}\n---\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pump(source, to):
    """All bytes of one side, and then that it says no more."""
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:  # one of both is gone
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Forwarder:
    """What `ssh -L PORT:SOCKET` does: a port of this host that leads to a unix socket."""

    def __init__(self, port, path):
        self.path = path
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:  # closed
                return
            there = socket.socket(socket.AF_UNIX)
            try:
                there.connect(str(self.path))
            except OSError:  # it does not listen yet
                caller.close()
                there.close()
                continue
            threading.Thread(target=self.join, args=(caller, there), daemon=True).start()

    @staticmethod
    def join(caller, there):
        with caller, there:
            back = threading.Thread(target=pump, args=(there, caller), daemon=True)
            back.start()
            pump(caller, there)
            back.join()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Node:
    """`with Node(...) as node`: it is served at node.url; with `by_socket` on the unix socket node.web, where a port leads."""

    def __init__(self, berthd, machine, manifests, web="", tls=False, by_socket=False):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-web.")
        top = pathlib.Path(self.folder.name)
        self.port = free_port()
        self.url = f"{'https' if tls else 'http'}://localhost:{self.port}"
        (top / "pods").mkdir()
        (top / "kubelet.yaml").write_text(KUBELET)
        self.web = top / "web.sock"
        self.forwarder = Forwarder(self.port, self.web) if by_socket else None
        (top / "berth.yaml").write_text(f"{BERTH}web: {{address: {self.web if by_socket else self.port}{web}}}\n")
        for name, text in manifests.items():
            (top / "pods" / name).write_text(text)
        self.top = top
        with open(top / "log", "w") as log:
            self.process = subprocess.Popen(
                [berthd, "--config", top / "berth.yaml", "--machine", machine, "--state-dir", top / "state", "--run-dir",
                 top / "run", "--socket", top / "berth.sock", "--pod-dir", top / "pods", "--log-level", "warning"], stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.forwarder:
            self.forwarder.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.folder.cleanup()

    def wait_for(self, pods):
        """Until that many pods are known."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/v1/status", timeout=10) as answer:
                    if f'"pods":{pods},' in answer.read().decode():
                        return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"berthd does not have {pods} pods: {(self.top / 'log').read_text()[-2000:]}")

    def settled_mib(self):
        """Resident, once it has not grown or shrunk for two seconds: pods that are known are still being started."""
        seen, since = self.resident_mib(), time.monotonic()
        end = since + 60
        while time.monotonic() < min(since + 2, end):
            time.sleep(0.1)
            now = self.resident_mib()
            if abs(now - seen) > 0.5:
                seen, since = now, time.monotonic()
        return self.resident_mib()

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def put(self, name, text):
        """A manifest, whole at once."""
        (self.top / name).write_text(text)
        os.replace(self.top / name, self.top / "pods" / name)
