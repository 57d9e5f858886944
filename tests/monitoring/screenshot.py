#!/usr/bin/python3
"""Draws docs/fleet_console.png: the console page of a small simulated fleet, by chromium. The page
says that it is simulated.

  tests/monitoring/screenshot.py [FILE]
"""

import os
import subprocess
import sys

from monitored_fleet import JOBS, monitored_fleet
from prometheus import ROOT, why_absent

WIDTH, HEIGHT = 1280, 1325


def main():
    reason = why_absent("prometheus", "chromium")
    if reason:
        sys.exit(reason)
    picture = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "docs", "fleet_console.png")
    with monitored_fleet() as prometheus:
        below = 'ALERTS{alertname="SextantJobBelowPlan",alertstate="firing"}'
        prometheus.wait_for(lambda: prometheus.query(below), "the last of the alerts")
        # Rates are right once they look back over a whole window.
        for job_id, (_, mfu, _) in JOBS.items():
            query = f'job:sextant_mfu:ratio{{job_id="{job_id}"}} > {0.99 * mfu} < {1.01 * mfu}'
            prometheus.wait_for(lambda q=query: prometheus.query(q), "MFUs that have settled")
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}",
             prometheus.url + "/consoles/sextant.html"], check=True, capture_output=True)


if __name__ == "__main__":
    main()
