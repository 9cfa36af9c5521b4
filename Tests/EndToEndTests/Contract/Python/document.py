"""Reads the contract (argument 1) and says what is wrong with it: by the rules of OpenAPI 3.1, and by its own examples.

Prints {"document": …, "faults": […], "released": TEXT}, the last being the document as it is kept at a release.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from contract import Contract
from openapi_spec_validator import OpenAPIV31SpecValidator

WORDS = {"description", "summary", "example", "examples", "tags", "servers", "license"}


def examples(content):
    if "example" in content:
        yield content["example"]
    for example in content.get("examples", {}).values():
        yield example


def example_faults(operation, content, place):
    for media_type, body in content.items():
        for example in examples(body):
            value = operation.resolved(example).get("value", example) if isinstance(example, dict) else example
            for fault in operation.faults(body["schema"], value):
                yield f"{operation.name}: the example of {place} {media_type}: {fault}"


def own_faults(contract):
    for operation in contract.operations:
        body = operation.resolved(operation.description.get("requestBody", {}))
        if body and not any(list(examples(one)) for one in body["content"].values()):
            yield f"{operation.name}: its body has no example"
        yield from example_faults(operation, body.get("content", {}), "the request")
        for status, answer in operation.description["responses"].items():
            yield from example_faults(operation, operation.resolved(answer).get("content", {}), status)


def comparable(value, is_name=False):
    """Without what is for people. Below `properties` and the like, names are data."""
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {"properties", "schemas", "responses", "parameters", "headers", "paths", "securitySchemes", "examples"}
    return {
        name: comparable(one, name in named) for name, one in value.items() if is_name or name not in WORDS
    }


contract = Contract(sys.argv[1])
invalid = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
           for error in OpenAPIV31SpecValidator(contract.document).iter_errors()]
released = json.dumps(comparable(contract.document), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
print(json.dumps({"document": contract.document, "faults": invalid + list(own_faults(contract)), "released": released}))
