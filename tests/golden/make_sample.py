#!/usr/bin/env python3
"""Chooses the sample of golden cases that is kept in the repository.

usage: make_sample.py FOLDER_WITH_ALL_CASES

Every case has tags (policies, options, node count, reasons, kinds of containers, ...). Cases are taken in the order of
the files as long as they show a tag, or a pair of tags, that was not shown often enough, up to a size for each file.
The same input gives the same bytes.
"""
import gzip
import itertools
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
# file -> times each tag and pair of tags is to be shown, and bytes (roughly, gzipped) to stay below
FILES = {
    "trace": (4, 400_000),
    "take": (3, 150_000),
    "merge": (40, 60_000),
    "trace-restart": (3, 60_000),
    "trace-unsafe": (99, 40_000),
}


def options(config, field):
    return [f"{field}:{key}={value}" for key, value in config.get(field, {}).items()]


def pod_tags(pod):
    spec = pod["spec"]
    for container in spec.get("initContainers", []):
        yield "sidecar" if container.get("restartPolicy") else "init container"
    if spec.get("resources"):
        yield "pod-level resources"
    if len(spec["containers"]) > 1:
        yield "several containers"
    for container in spec["containers"] + spec.get("initContainers", []):
        for name in container.get("resources", {}).get("limits", {}):
            if name.startswith("hugepages-"):
                yield "asks " + name


def trace_tags(case, expect):
    config = case["config"]
    for field in ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"):
        yield f"{field}:{config.get(field)}"
    yield from options(config, "cpuManagerPolicyOptions")
    yield from options(config, "topologyManagerPolicyOptions")
    yield "reserved by list" if "reservedSystemCPUs" in config else "reserved by amount"
    yield f"nodes:{len(case['machine']['topology'])}"
    for device in case.get("devices", []):
        yield f"{device['resource']} on {len(device.get('numa', []))} nodes"
        if device.get("healthy") is False:
            yield "unhealthy device"
    for step in case["steps"]:
        yield "op:" + step["op"]
        if "pod" in step:
            yield from pod_tags(step["pod"])
    if "error" in expect:
        yield "refused at start"
    for step in expect.get("steps", []):
        if "reason" in step:
            yield "reason:" + step["reason"]


def merge_tags(case, _):
    merge = case["merge"]
    yield "policy:" + merge["policy"]
    yield f"closest:{merge.get('preferClosest', False)}"
    yield f"nodes:{len(merge['nodes'])}"
    yield "sparse" if merge["nodes"] != list(range(len(merge["nodes"]))) else "dense"
    yield f"providers:{len(merge['providers'])}"
    for provider in merge["providers"]:
        if not provider:
            yield "provider without preference"
        for hints in provider.values():
            yield "no preference" if hints is None else "impossible" if not hints else f"hints:{min(len(hints), 8)}"


def take_tags(case, expect):
    yield f"nodes:{len(case['machine']['topology'])}"
    yield f"sockets:{case['machine'].get('num_sockets')}"
    yield f"threads:{max(len(c['thread_ids']) for n in case['machine']['topology'] for c in n['cores'])}"
    for take, answer in zip(case["takes"], expect["takes"]):
        how = "+".join(k for k in ("distributed", "uncore", "spread") if take.get(k)) or "packed"
        kind = "unsound" if answer is None else "error" if answer.startswith("error") else "answer"
        yield f"{how} group {take.get('group', 1)}: {kind}"


TAGS = {"trace": trace_tags, "merge": merge_tags, "take": take_tags}


def missing(tags, shown, times):
    tags = sorted(set(tags))
    keys = tags + list(itertools.combinations(tags, 2))
    return [key for key in keys if shown.get(key, 0) < times]


def choose(path, times, budget):
    shown, lines, size = {}, [], 0
    for line in gzip.open(path, "rt"):
        record = json.loads(line)
        keys = missing(TAGS[record["case"]["kind"]](record["case"], record["expect"]), shown, times)
        cost = len(gzip.compress(line.encode())) * 0.75  # neighbours share text
        if not keys or size + cost > budget:
            continue
        size += cost
        lines.append(line)
        for key in keys:
            shown[key] = shown.get(key, 0) + 1
    return lines, len(shown)


def main():
    source = pathlib.Path(sys.argv[1])
    total = 0
    for name, (times, budget) in FILES.items():
        lines, tags = choose(source / f"{name}.jsonl.gz", times, budget)
        target = HERE / f"{name}.jsonl.gz"
        target.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))
        total += target.stat().st_size
        print(f"{target.name}: {len(lines)} cases, {target.stat().st_size} bytes, {tags} tags and pairs")
    print(f"all: {total} bytes")


if __name__ == "__main__":
    main()
