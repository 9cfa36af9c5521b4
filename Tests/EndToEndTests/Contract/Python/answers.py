"""Holds what a server was asked and answered (argument 2) against the contract (argument 1).

The exchanges are [{"method", "path", "request": TEXT, "status", "headers": {…}, "body": TEXT}, …]. Prints
{"faults": […], "seen": ["GET /v1/health 200", …]}.
"""
import json
import re
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from contract import Contract

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def unsorted(pairs):
    names = [name.encode() for name, _ in pairs]
    if names != sorted(names):
        raise ValueError(f"members are not sorted: {[name for name, _ in pairs]}")
    return dict(pairs)


def read(text, members):
    """The value of an answer; it has to be compact, with a line end, and its members as this takes them."""
    if re.search(r"\s", STRING.sub("", text.removesuffix("\n"))) or not text.endswith("\n"):
        raise ValueError("not compact, or without a line end")
    return json.loads(text, object_pairs_hook=members)


def body_faults(operation, answer, exchange):
    content = answer.get("content")
    if not content:
        if exchange["body"]:
            yield f"has a body: {exchange['body'][:200]}"
        return
    media_type = exchange["headers"].get("content-type", "").split(";")[0]
    if media_type not in content:
        yield f"is {media_type or 'of no type'}"
        return
    try:
        body = exchange["body"]
        value = READERS.get(media_type, lambda text: value_of(operation, text))(body)
    except ValueError as error:
        yield str(error)
        return
    yield from operation.faults(content[media_type]["schema"], value)


def value_of(operation, text):
    if operation.name in PLAIN or "/operator/" in operation.name:
        return json.loads(text)
    return read(text, dict if operation.name in UNSORTED else unsorted)


READERS = {"application/yaml": yaml.safe_load, "text/csv": str}
# Of listeners that are not RevenueCat's: they are JSON, and no more is said of how it is written.
PLAIN = {"GET /healthz", "GET /readyz", "POST /apple/notifications"}
# Its members stand in an order for people.
UNSORTED = {"GET /v1/subscribers/{app_user_id}/export"}


def faults(operation, exchange):
    answer = operation.description["responses"].get(str(exchange["status"]))
    if answer is None:
        yield f"is not in the contract: {exchange['body'][:200]}"
        return
    answer = operation.resolved(answer)
    for name, header in answer.get("headers", {}).items():
        if operation.resolved(header).get("required") and name.lower() not in exchange["headers"]:
            yield f"has no {name}"
    yield from body_faults(operation, answer, exchange)
    if 200 <= exchange["status"] < 300:
        yield from request_faults(operation, exchange)


def request_faults(operation, exchange):
    """What was taken has to be what the contract says is taken."""
    body = operation.resolved(operation.description.get("requestBody", {}))
    if not body or not (exchange["request"] or body.get("required")):
        return
    for fault in operation.faults(body["content"]["application/json"]["schema"], json.loads(exchange["request"])):
        yield f"to a request that is none: {fault}"


contract = Contract(sys.argv[1])
found, seen = [], set()
for exchange in json.load(open(sys.argv[2])):
    asked = f"{exchange['method']} {exchange['path']}"
    operation = contract.operation(exchange["method"], exchange["path"])
    if operation is None:
        found.append(f"{asked}: is not in the contract")
        continue
    seen.add(f"{operation.name} {exchange['status']}")
    found += [f"{asked}: {exchange['status']} {fault}" for fault in faults(operation, exchange)]
print(json.dumps({"faults": found, "seen": sorted(seen)}))
