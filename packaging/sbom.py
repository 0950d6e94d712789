"""What is inside a wheel, as CycloneDX; it stands in .dist-info/sboms (PEP 770), the same bytes for the same build.

Dependencies are installed beside Rampion and stand in its metadata. Compiled into it is only what Cython adds.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from uuid import NAMESPACE_URL, uuid5


def component(name: str, number: str, kind: str = "library") -> dict[str, object]:
    """A package of the index; all that are named here have the same licence."""
    link = f"pkg:pypi/{name.lower()}@{number}"
    licence = [{"license": {"id": "Apache-2.0"}}]
    return {"type": kind, "bom-ref": link, "name": name, "version": number, "purl": link, "licenses": licence}


def sbom(number: str, name: str = "rampion") -> str:
    """The document of a version."""
    itself, cython = component(name, number), component("Cython", version("Cython"))
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    made = {"timestamp": datetime.fromtimestamp(int(epoch), UTC).isoformat()} if epoch else {}
    tool = {"type": "application", "name": "setuptools", "version": version("setuptools")}
    parts = [{**cython, "description": "utility code, part of each compiled module"}]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {**made, "tools": {"components": [tool]}, "component": itself},
        "components": parts,
        "dependencies": [
            {"ref": itself["bom-ref"], "dependsOn": [cython["bom-ref"]]},
            {"ref": cython["bom-ref"], "dependsOn": []},
        ],
    }
    content = json.dumps(document, sort_keys=True) + platform.machine()
    return json.dumps({**document, "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, content)}"}, indent=2) + "\n"
