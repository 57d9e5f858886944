#!/usr/bin/python3
"""Predicts the time of each row of a table of measured kernels, as plans do, from one calibration.

  predict_kernels.py CALIBRATION.json TABLE.csv

Tables are those of tests/gpu/unseen_kernels.py: multiplications have the columns dtype, m, n, k,
seconds; attention dtype, pass (forward or backward), batch, seq_len, heads, kv_heads, head_dim,
causal, seconds; both framework, and attention kernel. Writes CSV. `seen` is 1 where the calibration
has that very shape; `source` is whose measurements the time stands on, in which form.
"""

import math
import sys

import grpc
from google.protobuf import json_format

from cells import api, read_csv
from kernel_rows import integer, real
from tables import Table, csv_text

COLUMNS = ("kind", "dtype", "framework", "kernel", "pass", "shape", "seconds", "predicted_seconds",
           "low_seconds", "high_seconds", "basis", "source", "seen")
TYPES = {"bf16": api.DATA_TYPE_BF16, "fp8": api.DATA_TYPE_FP8_E4M3}
MATMUL = ("m", "n", "k")
ATTENTION = ("batch", "seq_len", "heads", "kv_heads", "head_dim", "causal")
# Multiplications of the calibration whose times are those of their shapes: proto/matmul_kind.h.
BURST = ("WINDOW_UNSPECIFIED", "WINDOW_BURST")
OF_SHAPE = ("PURPOSE_UNSPECIFIED", "PURPOSE_GRID", "PURPOSE_REQUESTED")


def calibration_in(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return json_format.Parse(text, api.Calibration(), ignore_unknown_fields=True)
    except json_format.ParseError as error:
        sys.exit(f"{path} is no calibration: {error}")


def measured_shapes(calibration):
    """(type, kind, pass, sizes) of all kernels of the calibration."""
    kinds = api.MatmulMeasurement
    for each in calibration.matmuls:
        window, purpose = kinds.Window.Name(each.window), kinds.Purpose.Name(each.purpose)
        if window in BURST and purpose in OF_SHAPE:
            yield each.data_type, "gemm", "forward", (each.m, each.n, each.k)
    for each in calibration.attentions:
        backward = each.training_pass == api.AttentionMeasurement.PASS_BACKWARD
        if each.value_head_size == each.head_size and not each.window:
            yield (each.data_type, "attention", "backward" if backward else "forward",
                   (each.batch, each.sequence_length, each.heads, each.kv_heads, each.head_size,
                    int(each.causal)))


class Predictor:
    def __init__(self, server, calibration):
        self.server = server
        self.calibration = calibration
        self.measured = set(measured_shapes(calibration))

    def ask(self, dtype, **operation):
        request = api.AnalyzeOperationRequest(operation=operation, data_types={"input": dtype})
        request.device.device.calibrations.calibrations.append(self.calibration)
        return self.server.call("AccountingService/AnalyzeOperation", request).time

    def predict(self, row):
        """The row's cells of the table that is written."""
        if not 0 < real(row, "seconds") < math.inf:
            raise ValueError("seconds: no time")
        if row.get("dtype") not in TYPES:
            raise ValueError(f"dtype is neither bf16 nor fp8: {row.get('dtype', '')}")
        dtype = TYPES[row["dtype"]]
        if "seq_len" in row:
            kind, direction = "attention", row.get("pass", "")
            sizes = {column: integer(row, column) for column in ATTENTION}
            shape = ("b{batch} s{seq_len} h{heads}/{kv_heads} d{head_dim} ".format(**sizes)
                     + ("causal" if sizes["causal"] else "full"))
            if direction not in ("forward", "backward"):
                raise ValueError(f"pass is neither forward nor backward: {direction}")
            time = self.ask(dtype, attention={
                "batch": sizes["batch"], "query_length": sizes["seq_len"], "heads": sizes["heads"],
                "kv_heads": sizes["kv_heads"], "head_size": sizes["head_dim"],
                "causal": bool(sizes["causal"])})
        else:
            kind, direction = "gemm", "forward"
            sizes = {column: integer(row, column) for column in MATMUL}
            shape = "x".join(map(str, sizes.values()))
            time = self.ask(dtype, matmul=sizes)
        found = time.predicted_backward if direction == "backward" else time.predicted_forward
        interval = found.duration_seconds
        source = (api.RateSource.Name(found.source).removeprefix("RATE_SOURCE_") + " "
                  + api.PredictionForm.Name(found.form).removeprefix("PREDICTION_FORM_")).lower()
        seen = (dtype, kind, direction, tuple(sizes.values())) in self.measured
        return (kind, row["dtype"], row.get("framework", ""), row.get("kernel", ""), direction,
                shape, row["seconds"], f"{interval.expected:g}", f"{interval.low:g}",
                f"{interval.high:g}", api.KernelBasis.Name(found.basis), source, int(seen))


def main():
    if len(sys.argv) != 3:
        print("usage: predict_kernels.py CALIBRATION.json TABLE.csv", file=sys.stderr)
        return 2
    calibration, path = calibration_in(sys.argv[1]), sys.argv[2]
    rows = []
    with api.own_server() as server:
        predictor = Predictor(server, calibration)
        for index, row in enumerate(read_csv(path), 1):
            try:
                rows.append(predictor.predict(row))
            except ValueError as error:
                sys.exit(f"{path}, row {index}: {error}")
            except grpc.RpcError as error:
                sys.exit(f"{path}, row {index}: {error.details()}")
    print(csv_text(Table(COLUMNS, rows)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
