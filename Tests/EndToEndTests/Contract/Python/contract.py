"""The contract, read and applied: what other scripts here share."""
import re

import yaml
from jsonschema import Draft202012Validator

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


class Operation:
    def __init__(self, document, path, method):
        self.document = document
        self.name = f"{method.upper()} {path}"
        self.method = method.upper()
        self.description = document["paths"][path][method]
        self.words = sum(not part.startswith("{") for part in path.split("/"))
        self.pattern = re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path) + r"(\?.*)?")

    def resolved(self, value):
        while "$ref" in value:
            target = self.document
            for part in value["$ref"][2:].split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            value = target
        return value

    def faults(self, schema, value):
        """What is wrong with a value, each with where; empty if it is valid."""
        whole = {"allOf": [schema], "components": self.document["components"]}
        errors = Draft202012Validator(whole).iter_errors(value)
        return [f"{error.json_path}: {error.message[:300]}" for error in errors]


class Contract:
    def __init__(self, file):
        with open(file) as text:
            self.document = yaml.safe_load(text)
        self.operations = [
            Operation(self.document, path, method)
            for path, item in self.document["paths"].items()
            for method in item
            if method in METHODS
        ]

    def operation(self, method, path):
        """The operation that a request is for, or None; of several the one with most words is."""
        fitting = [one for one in self.operations if one.method == method and one.pattern.fullmatch(path)]
        return max(fitting, key=lambda one: one.words, default=None)
