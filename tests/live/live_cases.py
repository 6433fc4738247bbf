"""The cases again, through this PyTorch: their expected answers are still what eager does.

strides: every operation; programs: every program, all calls; iteration: shape and strides of the
output (the sequence of inner-loop calls cannot be asked for from Python).
"""
import json
import warnings

import torch

import reference as ref


def lines(name):
    with open(ref.CASES / name) as f:
        for line in f:
            yield json.loads(line)


def call_operation(case, args, out):
    kw = dict(case.get("kw", {}))
    if "dtype" in kw:
        kw["dtype"] = ref.DTYPES[kw["dtype"]]
    if "memory_format" in kw:
        kw["memory_format"] = getattr(torch, kw["memory_format"] + "_format"
                                      if kw["memory_format"] in ("contiguous", "preserve")
                                      else kw["memory_format"])
    if case["op"] == "copy":
        return args[0].copy_(args[1])
    if case["mode"] == "inplace":
        return getattr(args[0], case["op"] + "_")(*args[1:], **kw)
    if case["op"] in ("contiguous", "to"):
        if case["op"] == "to":
            kw.setdefault("dtype", args[0].dtype)
        return getattr(args[0], case["op"])(*args[1:], **kw)
    if case["mode"] == "out":
        kw["out"] = out
    return getattr(torch, case["op"])(*args, **kw)


def check_operation(case):
    storages = [ref.make_storage(s) for s in case["storages"]]
    args = ref.make_args(case, storages)
    out = case.get("out")
    if out is not None:
        out = args[out["arg"]] if "arg" in out else storages[out["s"]].as_strided(
            out["sz"], out["st"], out["of"])
    expect = case["expect"]
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        try:
            result = call_operation(case, args, out)
        except ref.ERRORS as e:
            kind = ref.refusal(e)
            return [] if expect.get("error") == kind else ["refused: " + kind]
    if "error" in expect:
        return ["accepted, expected " + expect["error"]]
    bad = []
    got = {"dt": ref.NAMES[result.dtype], "sz": list(result.shape), "st": list(result.stride()),
           "of": result.storage_offset()}
    for key in ("dt", "sz", "st", "of"):
        if key in expect and got[key] != expect[key]:
            bad.append("%s %s, expected %s" % (key, got[key], expect[key]))
    if "vals" in expect and not ref.near(ref.values(result), expect["vals"],
                                         1e-2 if got["dt"] in ("f16", "bf16") else 2e-5, 1e-4):
        bad.append("values")
    resized = any("was resized" in str(w.message) for w in caught)
    if (expect.get("warn") == "resized_nonempty_out") != resized:
        bad.append("warning")
    return bad


def check_program(case):
    seen = ref.run_program(case, len(case["expect"]))
    if "error" in case["expect"][-1]:
        return [] if "error" in seen[-1] else ["accepted"]
    bad = []
    for want, got in zip(case["expect"], seen):
        if "error" in got:
            return ["refused: " + got["error"]]
        for w, g in zip(want["outputs"], got["outputs"]):
            keys = ("dt", "sz", "st", "vals") + (("mem",) if w["vals"] else ())
            bad += [k for k in keys if not ref.near(w[k], g[k])]
        if not ref.near(want["after"], got["after"]):
            bad.append("after")
    return bad


def check_iteration(case):
    """The layout of the output, for the kinds whose output PyTorch allocates."""
    if case["kind"] != "binary" or case["ops"][0] is not None:
        return None
    tensors = []
    for o in case["ops"][1:]:
        n = o["of"] + 1 + sum((s - 1) * k for s, k in zip(o["sz"], o["st"])) if all(o["sz"]) else 1
        tensors.append(torch.zeros(max(n, 1), dtype=ref.DTYPES[o["dt"]]).as_strided(
            o["sz"], o["st"], o["of"]))
    if len(tensors) == 2:
        result = torch.add(*tensors)
    elif len(tensors) == 3:
        result = torch.addcmul(*tensors)
    else:
        return None
    expect = case["expect"]
    return [k for k, v in (("out_sz", list(result.shape)), ("out_st", list(result.stride())))
            if expect[k] != v]


def main():
    failed_in_all = 0
    for name, check in (("strides-open.jsonl", check_operation),
                        ("programs-open.jsonl", check_program),
                        ("programs-operators.jsonl", check_program),
                        ("programs-found.jsonl", check_program),
                        ("iteration-open.jsonl", check_iteration)):
        passed = failed = skipped = 0
        for case in lines(name):
            bad = check(case)
            if bad is None:
                skipped += 1
            elif bad:
                failed += 1
                print(case["id"], "; ".join(map(str, bad))[:200])
            else:
                passed += 1
        print("%s: %d passed, %d failed, %d skipped" % (name, passed, failed, skipped))
        failed_in_all += failed
    return 1 if failed_in_all else 0


if __name__ == "__main__":
    raise SystemExit(main())
