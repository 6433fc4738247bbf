#!/usr/bin/env python3
"""Checks that a folder of src/ includes only folders of lower levels (src/layers.txt).

With --picture it prints the layers as a Mermaid diagram, for docs/architecture.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# Public headers belong to the folder that defines what they declare.
PUBLIC = {
    "result.h": "base", "small_vector.h": "base", "dtype.h": "core", "scalar.h": "core",
    "tensor.h": "core", "value.h": "op", "plugin.h": "op", "operator_library.h": "op",
    "operator_tensor.h": "op", "iterator.h": "iter", "program.h": "driver",
    "threads.h": "base",
}
# Which third-party library a header belongs to.
THIRD_PARTY = {
    "fmt": "fmt", "dnnl": "dnnl", "oneapi": "dnnl", "rapidjson": "rapidjson", "minizip": "minizip",
    "zlib.h": "zlib", "zconf.h": "zlib", "CLI": "CLI11", "llvm": "llvm", "gtest": "gtest",
}


def read_layers():
    levels, allowed = {}, {}
    for line in (ROOT / "src/layers.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            levels[words[0]] = int(words[1])
            allowed[words[0]] = set(words[2:])
    return levels, allowed


def owner_of(header):
    parts = header.split("/")
    if parts[0] == "palimpsest":
        return PUBLIC.get(parts[1])
    return parts[0]


def check(levels, allowed):
    bad = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        folder = path.relative_to(ROOT / "src").parts[0]
        if folder not in levels:
            bad.append(f"{path.relative_to(ROOT)}: folder '{folder}' is not in src/layers.txt")
            continue
        is_test = path.stem.endswith("_test") or path.stem.startswith("test_")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            m = INCLUDE.match(line)
            if not m:
                continue
            where = f"{path.relative_to(ROOT)}:{number}"
            owner = owner_of(m[2])
            if owner is None:
                bad.append(f"{where}: '{m[2]}' is not in the PUBLIC table of check_layers.py")
            elif owner in levels:
                higher = levels[owner] > levels[folder]
                neighbour = levels[owner] == levels[folder] and owner != folder
                # A test may use higher folders: it checks them together.
                if (higher or neighbour) and not is_test:
                    bad.append(f"{where}: {folder} (level {levels[folder]}) includes {owner} "
                               f"(level {levels[owner]})")
            else:
                library = THIRD_PARTY.get(m[2].split("/")[0])
                above_base = allowed[folder] | {"fmt"}
                if library and library not in above_base and not is_test:
                    bad.append(f"{where}: {folder} may not include {library}")
    return bad


def picture(levels):
    rows = {}
    for folder, level in levels.items():
        rows.setdefault(level, []).append(folder)
    lines = ["```mermaid", "flowchart BT"]
    for level in sorted(rows):
        lines.append(f"  subgraph L{level}[level {level}]")
        lines += [f"    {folder}" for folder in rows[level]]
        lines.append("  end")
    lines += [f"  L{level} --> L{level - 1}" for level in sorted(rows) if level > 0]
    return "\n".join(lines + ["```"])


def main():
    levels, allowed = read_layers()
    if "--picture" in sys.argv:
        print(picture(levels))
        return 0
    bad = check(levels, allowed)
    print("\n".join(bad) if bad else "layers: ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
