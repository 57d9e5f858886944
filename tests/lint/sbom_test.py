#!/usr/bin/python3
"""deploy/sbom.sh finds what built programs are made of, and what an image has, and writes it as
CycloneDX 1.4."""

import json
import os
import re
import subprocess
import sys
import tempfile

SCRIPT = "deploy/sbom.sh"
# Of archives, of a header alone, and loaded; and of no program.
OF_PROGRAMS = {"libgrpc++-dev", "libprotobuf-dev", "libabsl-dev", "libcli11-dev", "libssl3",
               "libstdc++-12-dev", "libprometheus-cpp-core1.0", "libc6"}
OF_TESTS = {"libgtest-dev", "libbenchmark-dev"}


def run(*arguments, **environment):
    return subprocess.run([SCRIPT, *arguments], check=True, text=True, capture_output=True,
                          env={**os.environ, **environment}).stdout


def package(name, version, architecture):
    return (f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
            "Status: install ok installed\nMaintainer: A\nDescription: b\n\n")


def check_image(folder):
    """CycloneDX of a system: what is installed there, and what its programs have besides."""
    os.makedirs(f"{folder}/var/lib/dpkg")
    os.makedirs(f"{folder}/usr/share/doc/sextant")
    os.makedirs(f"{folder}/usr/share/doc/sextant-server")
    with open(f"{folder}/var/lib/dpkg/status", "w", encoding="utf-8") as file:
        file.write(package("libssl3", "3.0.22-1~deb12u2", "amd64")
                   + package("libstdc++6", "12.2.0-14+deb12u1", "amd64")
                   + package("sextant", "1.2.3-0sextant1", "amd64"))
    for name, place in (("sextant", "sextant"), ("sextantd", "sextant-server")):
        with open(f"{folder}/usr/share/doc/{place}/{name}.cdx.json", "w",
                  encoding="utf-8") as file:
            file.write(run("program", os.path.dirname(os.environ["SEXTANT_BIN"]), "1.2.3", name))
    document = json.loads(run("image", folder, SOURCE_DATE_EPOCH="86400"))
    assert document["metadata"] == {
        "timestamp": "1970-01-02T00:00:00Z",
        "component": {"type": "container", "bom-ref": "sextant-image", "name": "sextant-image",
                      "version": "1.2.3-0sextant1"}}
    of_name = {each["name"]: each for each in document["components"]}
    assert len(of_name) == len(document["components"]), of_name.keys()
    # sextantd was linked with the libssl3 of this host, and loads the image's.
    assert of_name["libssl3"]["version"] == "3.0.22-1~deb12u2", of_name["libssl3"]
    assert {"libgrpc++-dev", "libtomlplusplus-dev", "libprometheus-cpp-core1.0"} <= set(of_name)
    assert {name: of_name[name]["purl"] for name in ("libstdc++6", "sextant")} == {
        "libstdc++6": "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64",
        "sextant": "pkg:deb/sextant/sextant@1.2.3-0sextant1?arch=amd64"}, of_name
    assert document["dependencies"] == [
        {"ref": "sextant-image", "dependsOn": [each["purl"] for each in document["components"]]}]


def check_linked():
    lines = run("linked", os.path.dirname(os.environ["SEXTANT_BIN"])).splitlines()
    assert all(re.fullmatch(r"[a-z0-9.+-]+ \S+ (amd64|arm64|all|npm)", line)
               for line in lines), lines
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
        assert re.fullmatch(r"pkg:deb/debian/[a-z0-9.%B-]+@[^@+:?]+\?arch=(amd64|arm64|all)"
                            r"|pkg:npm/[a-z0-9-]+@[0-9.]+", each["purl"]), each
    assert document["dependencies"] == [
        {"ref": name, "dependsOn": [each["purl"] for each in document["components"]]}]


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_image(folder)
    check_linked()
    check_program("sextant", {"libgrpc++-dev", "libcli11-dev"},
                  {"prometheus-cpp-dev", "libprometheus-cpp-core1.0", "libyaml-cpp-dev"})
    page = os.path.join(os.path.dirname(os.environ["SEXTANT_BIN"]), "server/page/packages")
    of_page = {"d3-scale"} if os.path.exists(page) else set()
    check_program("sextantd", {"libgrpc++-dev", "libprometheus-cpp-core1.0", "libssl3",
                               "libtomlplusplus-dev", "libyaml-cpp-dev"} | of_page, set())
    check_program("sextant-probe", {"libprotobuf-dev", "libabsl-dev"},
                  {"libgrpc++-dev", "libssl-dev", "libssl3"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
