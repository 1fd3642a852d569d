"""Vendor a Plotly.js partial bundle from its npm tarball.

Get the tarball with `npm pack plotly.js-basic-dist-min` on any machine, then run
`python tools/vendor_plotly.py plotly.js-basic-dist-min-X.Y.Z.tgz`. The script
writes the bundle, its licence text and `manifest.json` with version and hash.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tarfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "widgets" / "static" / "vendor"
PACKAGE = "plotly.js-basic-dist-min"
BUNDLE = "plotly-basic.min.js"


def read_member(archive: tarfile.TarFile, name: str) -> bytes:
    """The bytes of `package/<name>`; KeyError if the tarball lacks it."""
    member = archive.extractfile(f"package/{name}")
    if member is None:
        raise KeyError(name)
    return member.read()


def vendor(tarball: Path, target: Path = VENDOR) -> dict[str, str]:
    """Unpack `tarball` into `target` and return the manifest entry."""
    with tarfile.open(tarball) as archive:
        package = json.loads(read_member(archive, "package.json"))
        if package["name"] != PACKAGE:
            raise SystemExit(f"{tarball} holds {package['name']}, not {PACKAGE}")
        script = read_member(archive, "plotly-basic.min.js")
        licence = read_member(archive, "LICENSE")
    target.mkdir(parents=True, exist_ok=True)
    (target / BUNDLE).write_bytes(script)
    (target / "plotly-LICENSE.txt").write_bytes(licence)
    entry = {
        "file": BUNDLE,
        "package": PACKAGE,
        "version": package["version"],
        "license": package["license"],
        "license_file": "plotly-LICENSE.txt",
        "sha256": hashlib.sha256(script).hexdigest(),
    }
    manifest = json.dumps([entry], indent=2) + "\n"
    (target / "manifest.json").write_text(manifest, encoding="utf-8")
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tarball", type=Path)
    entry = vendor(parser.parse_args().tarball)
    print(f"{entry['package']} {entry['version']}  sha256 {entry['sha256']}")


if __name__ == "__main__":
    main()
