"""Airflow: a task before the one that trains.

    PythonOperator(task_id="fits", python_callable=check_fit, op_kwargs={
        "words": "llama-3.1-8b --tokens=1T --gbs=64 --sequence-length=8192",
        "devices": 16, "accelerator": "h100-sxm"}) >> train
"""
from __future__ import annotations

from typing import Dict, Optional

from airflow.exceptions import AirflowFailException

from . import Refused, check


def check_fit(words: str, devices: Optional[int] = None, accelerator: str = "",
              job_name: str = "") -> Dict[str, str]:
    """The layout as environment variables, which the next task takes from XCom; empty where no
    planner answers. Fails the task, without retries, where the run does not fit."""
    try:
        admission = check(words, devices=devices, accelerator=accelerator, job_name=job_name)
    except Refused as refusal:
        raise AirflowFailException(str(refusal)) from None
    return {} if admission is None else admission.layout
