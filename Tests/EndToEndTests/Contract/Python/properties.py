"""schemathesis against a running server: data that a contract (argument 1) allows, and data that it forbids.

Argument 2 names {"base_url", "prefix", "keys": {METHOD PATH: KEY, "": KEY}, "only": [METHOD PATH, …] or null,
"values": {NAME: […]}, "parameters": {NAME: SCHEMA}, "nullable": [[NAME, …], …], "examples": N}. `values` are for parameters of paths which nobody would guess: half of what is allowed has one of them.
`parameters` are schemas that take the place of the contract's, and `nullable` paths in it to schemas that allow null in
words only. Prints
{"calls": N, "statuses": {…}, "found": {"METHOD PATH STATUS: TITLE": EXAMPLE}}.

One failure of a kind is as good as many, so that nothing is shrunk: that keeps it short.
"""
import json
import random
import sys
from collections import Counter

import hypothesis
import schemathesis
import yaml
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.core.result import Ok

load_all_checks()
CHOSEN = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "positive_data_acceptance",
        "unsupported_method",
    )
]

given = json.load(open(sys.argv[2]))


def at(document, path):
    for name in path:
        document = document[name]
    return document


def contract():
    with open(sys.argv[1]) as text:
        document = yaml.safe_load(text)
    for path in given["nullable"]:
        at(document, path)["nullable"] = True
    # Keys are not data: each request has a good one.
    document.pop("security", None)
    for item in document["paths"].values():
        for operation in item.values():
            if not isinstance(operation, dict):
                continue
            operation.pop("security", None)
            for parameter in operation.get("parameters", []):
                if parameter.get("name") in given["parameters"]:
                    parameter["schema"] = given["parameters"][parameter["name"]]
    return schemathesis.openapi.from_dict(document)


schema = contract()
found, statuses = {}, Counter()
chance = random.Random(1)


def key(label):
    return given["keys"].get(label, given["keys"][""])


def judge(operation, case, mode):
    if mode is GenerationMode.POSITIVE:
        for name, values in given["values"].items():
            if name in (case.path_parameters or {}) and chance.random() < 0.5:
                case.path_parameters[name] = chance.choice(values)
    headers = {"Authorization": f"Bearer {key(operation.label)}"}
    response = case.call(base_url=given["base_url"] + given["prefix"], headers=headers, timeout=30)
    statuses[f"{operation.label} {response.status_code}"] += 1
    for check in CHOSEN:
        try:
            case.validate_response(response, checks=[check], headers=headers)
        except FailureGroup as group:
            for failure in group.exceptions:
                told = f"{response.status_code} {response.text[:200]} to {case.as_curl_command()[:900]}: {failure.message[:300]}"
                name = f"{operation.label} {response.status_code}: {failure.title}"
                if isinstance(failure, RejectedPositiveData) and operation.body and case.body is NOT_SET:
                    name += " without a body"
                if isinstance(failure, RejectedPositiveData) and '"code":7256' in response.text and "U+" in response.text:
                    name += " for a character that is not seen"
                if failure.title == "Schema-violating request accepted":
                    query = case.query or {}
                    if query.get("preview") == "true":
                        name += " as a preview"
                    elif any(value in ("", [""], {}, []) for value in query.values()):
                        name += " with a parameter without a value"
                found.setdefault(name, told)


def run(operation, mode):
    @hypothesis.settings(
        max_examples=given["examples"], database=None, deadline=None, derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        judge(operation, case, mode)

    try:
        each()
    except hypothesis.errors.Unsatisfiable:
        # What nothing can be forbidden of.
        pass


for result in schema.get_all_operations():
    if not isinstance(result, Ok):
        found[f"{result.err()}"] = "cannot be read"
        continue
    operation = result.ok()
    if given["only"] is not None and operation.label not in given["only"]:
        continue
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        run(operation, mode)

print(json.dumps({"calls": sum(statuses.values()), "statuses": statuses, "found": found}))
