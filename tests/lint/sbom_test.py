#!/usr/bin/python3
"""deploy/sbom.sh writes SPDX 2.3 of what it is told, and finds what built programs are made of,
which it writes as CycloneDX 1.4."""

import json
import os
import re
import subprocess
import sys
import tempfile

SCRIPT = "deploy/sbom.sh"
# Installed in the image, as the script asks dpkg-query for them; one is linked as well.
INSTALLED = ("image libstdc++6 12.2.0-14+deb12u1 amd64\n"
             "image zlib1g 1:1.2.13.dfsg-1 amd64\n")
LINKED = "libcli11-dev 2.1.2+ds-1 all\nzlib1g 1:1.2.13.dfsg-1 amd64\n"
# Of archives, of a header alone, and loaded; and of no program.
OF_PROGRAMS = {"libgrpc++-dev", "libprotobuf-dev", "libabsl-dev", "libcli11-dev", "libssl3",
               "libstdc++-12-dev", "libprometheus-cpp-core1.0", "libc6"}
OF_TESTS = {"libgtest-dev", "libbenchmark-dev"}


def run(*arguments, **environment):
    return subprocess.run([SCRIPT, *arguments], check=True, text=True, capture_output=True,
                          env={**os.environ, **environment}).stdout


def check_document(folder):
    dpkg_query = os.path.join(folder, "dpkg-query")
    with open(dpkg_query, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nprintf '%s' '{INSTALLED}'\n")
    os.chmod(dpkg_query, 0o755)
    linked = os.path.join(folder, "linked")
    with open(linked, "w", encoding="utf-8") as file:
        file.write(LINKED)
    path = f"{folder}:{os.environ['PATH']}"
    document = json.loads(run("image", "1.2.3", linked, PATH=path, SOURCE_DATE_EPOCH="86400"))
    assert document["spdxVersion"] == "SPDX-2.3", document
    assert document["creationInfo"]["created"] == "1970-01-02T00:00:00Z", document
    packages = {package["SPDXID"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"]) == 5, packages.keys()
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in packages), packages.keys()
    assert packages["SPDXRef-sextant"]["versionInfo"] == "1.2.3"
    of_name = {package["name"]: package for package in packages.values()}
    locators = {name: package["externalRefs"][0]["referenceLocator"]
                for name, package in of_name.items() if "externalRefs" in package}
    assert locators == {
        "libcli11-dev": "pkg:deb/debian/libcli11-dev@2.1.2%2Bds-1?arch=all",
        "libstdc++6": "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64",
        "zlib1g": "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64"}, locators
    relations = {(packages.get(each["spdxElementId"], {}).get("name"), each["relationshipType"],
                  packages[each["relatedSpdxElement"]]["name"])
                 for each in document["relationships"]}
    assert relations == {
        (None, "DESCRIBES", "sextant-image"), ("sextant-image", "CONTAINS", "sextant"),
        ("sextant-image", "CONTAINS", "libstdc++6"), ("sextant-image", "CONTAINS", "zlib1g"),
        ("sextant", "DEPENDS_ON", "libcli11-dev"), ("sextant", "DEPENDS_ON", "zlib1g")}, relations


def check_linked():
    lines = run("linked", os.path.dirname(os.environ["SEXTANT_BIN"])).splitlines()
    assert all(re.fullmatch(r"[a-z0-9.+-]+ \S+ (amd64|arm64|all)", line) for line in lines), lines
    found = {line.split()[0] for line in lines}
    assert OF_PROGRAMS <= found, OF_PROGRAMS - found
    assert not OF_TESTS & found, OF_TESTS & found


def check_program(name, has, lacks):
    """CycloneDX of a program: what its own headers and archives came in, and of no other's."""
    arguments = ("program", os.path.dirname(os.environ["SEXTANT_BIN"]), "1.2.3", name)
    text = run(*arguments, SOURCE_DATE_EPOCH="86400")
    assert text == run(*arguments, SOURCE_DATE_EPOCH="86400")
    document = json.loads(text)
    assert document["bomFormat"] == "CycloneDX" and document["specVersion"] == "1.4", document
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
                        document["serialNumber"]), document["serialNumber"]
    assert document["metadata"] == {
        "timestamp": "1970-01-02T00:00:00Z",
        "component": {"type": "application", "bom-ref": name, "name": name, "version": "1.2.3"}}
    of_name = {each["name"]: each for each in document["components"]}
    assert has <= set(of_name) and not (lacks | OF_TESTS) & set(of_name), (name, of_name.keys())
    for each in of_name.values():
        assert each["type"] == "library" and each["bom-ref"] == each["purl"], each
        assert re.fullmatch(r"pkg:deb/debian/[a-z0-9.%B-]+@[^@+:?]+\?arch=(amd64|arm64|all)",
                            each["purl"]), each
    assert document["dependencies"] == [
        {"ref": name, "dependsOn": [each["purl"] for each in document["components"]]}]


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_document(folder)
    check_linked()
    check_program("sextant", {"libgrpc++-dev", "libtomlplusplus-dev", "libcli11-dev"},
                  {"prometheus-cpp-dev", "libprometheus-cpp-core1.0"})
    check_program("sextantd", {"libgrpc++-dev", "libprometheus-cpp-core1.0", "libssl3"},
                  {"libtomlplusplus-dev"})
    check_program("sextant-probe", {"libprotobuf-dev", "libabsl-dev"},
                  {"libgrpc++-dev", "libssl-dev", "libssl3"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
