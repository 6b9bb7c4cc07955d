# SPDX-License-Identifier: MIT
"""The formats of --trace say the same: protobuf, decoded by protoc with schemas of our own, is compared with the JSON.

    trace_formats.py perfetto T.pftrace T.json DEPS.json    of one run in virtual time
    trace_formats.py chakra T.et T.json DEPS.json           likewise
    trace_formats.py ranks T.pftrace                        of a run on 4 ranks: a group of tracks a rank, whole flows
    trace_formats.py collectives T.3.et                     of rank 3 of three all-reduces of 8000 bytes, in a row
    trace_formats.py alone T.pftrace RUN.json               of a run in real time: whole, and with as many calls as it had

Prints what does not hold.  Exit status: 0 where all does.
"""
import ast
import collections
import decimal
import json
import pathlib
import subprocess
import sys

SCHEMAS = pathlib.Path(__file__).parent.parent / "cli"

# ---- protobuf: a message is a dict, with a list of values by field ----


def decode(schema, message, data):
    """The message that the bytes are; a field that the schema does not have ends the program."""
    command = ["protoc", f"-I{SCHEMAS}", f"--decode={message}", schema]
    text = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    root = {}
    stack = [root]
    for line in text.decode("utf-8").splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
            continue
        is_message = line.endswith(" {")
        field, value = (line[:-2], {}) if is_message else line.split(": ", 1)
        if field.isdigit():
            sys.exit(f"{schema} has no field {field}: {value}")
        stack[-1].setdefault(field, []).append(value if is_message else value_of(value))
        if is_message:
            stack.append(value)
    return root


def value_of(text):
    if text[0] == '"':
        return ast.literal_eval("b" + text).decode("utf-8")  # escapes are of bytes
    if text in ("true", "false"):
        return text == "true"
    if text[0].isdigit() or text[0] == "-":
        return float(text) if any(c in text for c in ".en") else int(text)
    return text


def with_tags(data):
    """Messages behind their lengths, as fields of one message: the first is number 1, the others are 2."""
    parts, at = [], 0
    while at < len(data):
        begin, length, shift = at, 0, 0
        while True:
            byte = data[at]
            length |= (byte & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if byte < 0x80:
                break
        at += length
        parts.append(bytes([0x12 if parts else 0x0A]) + data[begin:at])
    if at != len(data):
        sys.exit("the last message is cut off")
    return b"".join(parts)


def one(message, field, default=None):
    values = message.get(field, [])
    assert len(values) <= 1, field
    return values[0] if values else default


# ---- what a timeline shows, the same for both formats ----

Slice = collections.namedtuple("Slice", "track category name begin end args")


class Timeline:
    """Times are whole nanoseconds.  A track is (process, name); ranks say what stands above what.

    slices, values (of counters) and groups are lists; flows are pairs of slices' (track, begin) by identity.
    """

    def __init__(self):
        self.ranks, self.run, self.slices, self.values, self.groups, self.flows = {}, {}, [], [], [], {}


def read_json(path):
    document = json.load(open(path), parse_float=decimal.Decimal)
    timeline, names, ranks = Timeline(), {}, {}
    ns = lambda us: int(decimal.Decimal(us) * 1000)
    track_of = lambda event: (names["process", event["pid"]], names["thread", event["pid"], event["tid"]])
    timeline.run = document["otherData"]
    for event in document["traceEvents"]:
        if event["ph"] == "M":
            kind, what = event["name"].split("_", 1)
            key = (kind, event["pid"]) if kind == "process" else (kind, event["pid"], event["tid"])
            (names if what == "name" else ranks)[key] = list(event["args"].values())[0]
        elif event["ph"] == "X":
            end = ns(event["ts"] + event["dur"])
            args = {k: float(v) if isinstance(v, decimal.Decimal) else v for k, v in event.get("args", {}).items()}
            timeline.slices.append(Slice(track_of(event), event["cat"], event["name"], ns(event["ts"]), end, args))
        elif event["ph"] == "C":
            ((unit, value),) = event["args"].items()
            timeline.values.append((event["name"], unit, ns(event["ts"]), value))
        elif event["ph"] in "be":
            timeline.groups.append((event["ph"], names["process", event["pid"]], event["cat"], event["name"], ns(event["ts"])))
        else:
            timeline.flows.setdefault(event["id"], []).append((track_of(event), ns(event["ts"])))
    for kind, process, *track in names:
        if track:
            timeline.ranks[names["process", process], names[kind, process, *track]] = ranks["process", process], ranks[kind, process, *track]
    return timeline


def read_perfetto(path):
    """As Perfetto takes it: events in order of time, of the file where times are equal; an end closes its track's last begin."""
    packets = decode("perfetto.proto", "Trace", open(path, "rb").read())["packet"]
    timeline, tracks, names, events = Timeline(), {}, {"categories": {}, "events": {}, "args": {}}, []
    assert one(packets[0], "flags") == 1 and all(one(p, "sequence") == 1 for p in packets)
    for packet in packets:
        for kind, new in one(packet, "names", {}).items():
            for name in new:
                assert one(name, "id") > 0 and one(name, "id") not in names[kind], "a name is told twice"
                names[kind][one(name, "id")] = one(name, "text")
        if "track" in packet:
            track = one(packet, "track")
            assert one(track, "uuid") not in tracks and one(track, "parent", 0) in [0, *tracks]
            tracks[one(track, "uuid")] = track
            continue
        event = one(packet, "event")
        assert one(event, "track") in tracks, "nothing has told of the track"
        assert "name" not in event or one(packet, "flags") == 2
        args = {names["args"][one(a, "name")]: one(a, "uint", one(a, "real", one(a, "text"))) for a in event.get("arg", [])}
        category = names["categories"].get(one(event, "category"))
        events.append((one(packet, "timestamp"), event, category, names["events"].get(one(event, "name")), args))
    open_slices = {}
    for time, event, category, name, args in sorted(events, key=lambda event: event[0]):
        uuid, kind = one(event, "track"), one(event, "type")
        parent = one(tracks.get(one(tracks[uuid], "parent"), {}), "name")
        track = parent, one(tracks[uuid], "name")
        if kind == "COUNTER":
            timeline.values.append((track[1], one(one(tracks[uuid], "counter"), "unit_name"), time, one(event, "value")))
        elif kind == "INSTANT":
            timeline.run = args
        elif kind == "BEGIN":
            assert uuid not in open_slices, "slices of a track overlap"
            open_slices[uuid] = Slice(track, category, name, time, None, args)
            for flow in event.get("flow", []):
                assert flow not in timeline.flows, "a flow begins twice"
                timeline.flows[flow] = [(track, time, args["task"])]
            for flow in event.get("last_flow", []):
                timeline.flows[flow].append((track, time, args["task"]))
        elif open_slices[uuid].category == "node":
            begun = open_slices.pop(uuid)
            timeline.groups.append(("b", parent, begun.category, begun.name, begun.begin))
            timeline.groups.append(("e", parent, begun.category, begun.name, time))
        else:
            timeline.slices.append(open_slices.pop(uuid)._replace(end=time))
    assert not open_slices, "a slice has no end"
    for track in tracks.values():
        parent = tracks.get(one(track, "parent"))
        if parent and "counter" not in track and "rank" in track:
            timeline.ranks[one(parent, "name"), one(track, "name")] = one(parent, "rank"), one(track, "rank")
    return timeline


# ---- what has to be the same ----

failed = 0


def holds(what, is_so):
    global failed
    if not is_so:
        failed += 1
        print(f"{what}: not so")


def holds_same(what, left, right, least):
    left, right = sorted(left, key=repr), sorted(right, key=repr)
    holds(f"there are {what}", len(left) >= least)
    if left != right:
        holds(f"{what} are the same: {next(((l, r) for l, r in zip(left, right) if l != r), (len(left), len(right)))}", False)


def edges_of(deps, ran):
    """Those between tasks that ran, in the order of the file, which that of flows is."""
    return [(e["from"], e["to"]) for e in deps["edges"] if e["from"] in ran and e["to"] in ran]


def is_in(slices, track, time, task):
    """Whether a call of the task is there at this time."""
    return any(s.track == track and s.begin <= time <= s.end and s.args["task"] == task for s in slices)


def check_perfetto(perfetto, plain, deps):
    holds_same("slices", perfetto.slices, plain.slices, 10)
    holds_same("counters' values", perfetto.values, plain.values, 4)
    holds_same("groups", perfetto.groups, plain.groups, 0)
    holds("tracks stand where they did", perfetto.ranks == plain.ranks)
    holds("the run is the same", perfetto.run == plain.run)
    calls = collections.defaultdict(list)
    for s in plain.slices:
        if s.category == "kernel":
            calls[s.args["task"]].append(s)
    edges = edges_of(deps, calls)
    holds("there is a flow an edge", len(perfetto.flows) == len(plain.flows) == len(edges))
    flows = [perfetto.flows[i] for i in sorted(perfetto.flows)]
    holds("flows join what edges do", [tuple(end[2] for end in ends) for ends in flows] == edges)
    # Arrows begin and end in the slices that have the flows.
    arrows = [plain.flows[i] for i in sorted(plain.flows)]
    holds("arrows are of the same tracks", [[end[0] for end in ends] for ends in flows] == [[end[0] for end in ends] for ends in arrows])
    for (producer, consumer), (begin, end), (_, to) in zip(edges, arrows, flows):
        holds("an arrow begins in a call", is_in(calls[producer], *begin, producer))
        holds("an arrow ends at a call's begin", (to[0], to[1]) == end and is_in(calls[consumer], *end, consumer))


def check_chakra(path, plain, deps):
    file = decode("chakra.proto", "File", with_tags(open(path, "rb").read()))
    value = lambda a: next(iter(v[0] for k, v in a.items() if k != "name"), 0)
    attributes = lambda message: {one(a, "name"): value(a) for a in message.get("attribute", [])}
    (metadata,) = file["metadata"]
    holds("the run is the same", all(plain.run[k] == v for k, v in attributes(metadata).items()) and len(metadata["attribute"]) == 4)
    nodes = [(one(n, "id", 0), n, attributes(n)) for n in file["node"]]
    seen = set()
    for identity, node, _ in nodes:
        depends = node.get("ctrl_deps", []) + node.get("data_deps", [])
        holds("a node depends on earlier ones", identity not in seen and seen.issuperset(depends))
        holds("each once", len(set(node.get("data_deps", []))) == len(node.get("data_deps", [])))
        seen.add(identity)
    tasks = {i: (n, a) for i, n, a in nodes if i < len(deps["tasks"])}
    moves = {i: (n, a) for i, n, a in nodes if i not in tasks}
    holds("there is a node a task", sorted(tasks) == list(range(len(deps["tasks"]))))
    edges = [(d, i) for i, (n, _) in tasks.items() for d in n.get("data_deps", []) if d in tasks]
    holds_same("edges", edges, [(e["from"], e["to"]) for e in deps["edges"]], 0)
    check_chakra_tasks(tasks, plain, deps)
    check_chakra_moves(tasks, moves, plain, deps)


def check_chakra_tasks(tasks, plain, deps):
    calls = collections.defaultdict(list)
    for s in plain.slices:
        if s.category == "kernel":
            calls[s.args["task"]].append(s)
    bits = {"f32": 32, "fp16": 16, "bf16": 16, "bool": 8, **{kind + str(n): n for kind in "iu" for n in (4, 8, 16, 32, 64)}}
    for i, (node, attribute) in tasks.items():
        task = deps["tasks"][i]
        holds(f"task {i} is of its type", one(node, "type") == ("COMP" if task["kind"] == "kernel" else "METADATA"))
        holds(f"task {i} has its names", (attribute.get("node"), attribute.get("label")) == (task.get("node"), task.get("label")))
        if task["kind"] == "kernel":
            holds(f"task {i} is named", all(kernel in one(node, "name") for kernel in task["kernels"].values()))
            bytes_ = 0
            for p in task["params"]:
                elements = 1
                for extent in p["shape"]:
                    elements *= extent
                times = {"INPUT": 1, "OUTPUT": 1, "INOUT": 2, "ACCUMULATE": 2}.get(p["mode"], 0)
                bytes_ += times * (elements * bits[p["dtype"]] // 8)
            holds(f"task {i} has its bytes: {attribute['tensor_size']}, not {bytes_}", attribute["tensor_size"] == bytes_)
            holds(f"task {i} has operations", attribute.get("num_ops", -1) >= 0)
        if calls[i]:
            begin, end = min(c.begin for c in calls[i]), max(c.end for c in calls[i])
            holds(f"task {i} has its times", (attribute["start_ns"], attribute["duration_ns"]) == (begin, end - begin))
            us = one(node, "start_us", 0), one(node, "duration_us", 0)
            holds(f"task {i} has microseconds: {us}", us == (begin // 1000, (end - begin + 500) // 1000))


def check_chakra_moves(tasks, moves, plain, deps):
    """Transfers are those of the timeline; what they wait for has used the bytes, and what reads them comes after."""
    types = {"transfers to the device": "MEM_LOAD", "transfers to the host": "MEM_STORE", "transfers on the device": "COMP"}
    told = [(one(n, "name"), one(n, "type"), a["start_ns"], a["start_ns"] + a["duration_ns"], a["tensor_size"]) for n, a in moves.values()]
    transfers = [s for s in plain.slices if s.category == "transfer"]
    holds_same("transfers", told, [(s.name, types[s.name], s.begin, s.end, s.args["bytes"]) for s in transfers], 0)
    order = sorted(moves)
    holds("each waits for the one before", [moves[i][0].get("ctrl_deps", []) for i in order] == [[]][: len(order)] + [[i] for i in order[:-1]])
    end_of = lambda attribute: attribute["start_ns"] + attribute["duration_ns"]
    everything = {**tasks, **moves}
    for i, (node, attribute) in everything.items():
        for d in node.get("ctrl_deps", []) + node.get("data_deps", []):
            if i in moves or d in moves:
                holds(f"{i} begins after {d} has ended", attribute["start_ns"] >= end_of(everything[d][1]))
    for i, (node, _) in moves.items():
        if one(node, "type") == "MEM_STORE":
            holds(f"transfer {i} brings what a task or a transfer has written", len(node.get("data_deps", [])) > 0)
    loads = {i for i, (n, _) in moves.items() if one(n, "type") == "MEM_LOAD"}
    used = {d for n, _ in everything.values() for d in n.get("data_deps", [])}
    holds("most loads are read by something", 2 * len(loads & used) >= len(loads))


def check_alone(perfetto, run):
    calls = [s for s in perfetto.slices if s.category == "kernel"]
    stats = run["stats"]
    holds("there is a slice a call", len(calls) == stats["calls"] > 0)
    holds("times are nanoseconds of the run", 0 < max(s.end for s in perfetto.slices) < 2e9 * run["wall_seconds"])
    holds("the time is real", perfetto.run["time"] == "real" and perfetto.run["tasks"] == run["tasks"])
    tasks = {s.args["task"] for s in calls}
    holds("flows are edges", all(len(f) == 2 and f[0][2] in tasks and f[1][2] > f[0][2] for f in perfetto.flows.values()))


def check_ranks(path):
    packets = decode("perfetto.proto", "Trace", open(path, "rb").read())["packet"]
    tracks = {one(t, "uuid"): t for t in (one(p, "track") for p in packets if "track" in p)}

    def root(uuid):
        return root(one(tracks[uuid], "parent")) if "parent" in tracks[uuid] else one(tracks[uuid], "name")

    roots = sorted({root(uuid) for uuid in tracks if uuid})
    holds("a group of tracks a rank, and one of all", roots == ["all ranks", "rank 0", "rank 1", "rank 2", "rank 3"])
    events = [one(p, "event") for p in packets if "event" in p]
    holds("events are on tracks", all(one(e, "track") in tracks for e in events))
    begins, ends = ([f for e in events for f in e.get(key, [])] for key in ("flow", "last_flow"))
    holds("flows have two ends", begins and len(begins) == len(set(begins)) and sorted(begins) == sorted(ends))


def check_collectives(path):
    nodes = decode("chakra.proto", "File", with_tags(open(path, "rb").read()))["node"]
    for number, node in enumerate(nodes):
        attribute = {one(a, "name"): a for a in node["attribute"]}
        said = [one(attribute[name], "int64_value", 0) for name in ("comm_type", "comm_size")]
        holds(f"node {number} is an all-reduce", one(node, "type") == "COMM_COLL" and said == [0, 8000])
        holds(f"node {number} is of all ranks", "pg_name" not in attribute)
        holds(f"node {number} comes after the one before", node.get("data_deps", []) == ([number - 1] if number else []))
    holds("there are three", len(nodes) == 3)


if sys.argv[1] == "ranks":
    check_ranks(sys.argv[2])
elif sys.argv[1] == "collectives":
    check_collectives(sys.argv[2])
elif sys.argv[1] == "perfetto":
    check_perfetto(read_perfetto(sys.argv[2]), read_json(sys.argv[3]), json.load(open(sys.argv[4])))
elif sys.argv[1] == "chakra":
    check_chakra(sys.argv[2], read_json(sys.argv[3]), json.load(open(sys.argv[4])))
else:
    check_alone(read_perfetto(sys.argv[2]), json.load(open(sys.argv[3])))
sys.exit(1 if failed else 0)
