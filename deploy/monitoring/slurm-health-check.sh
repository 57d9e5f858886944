#!/usr/bin/env bash
# Slurm's HealthCheckProgram: drains this node where a device was slow in two measurements in a row,
# or a result of it was wrong. docs/health.md says what else is CRITICAL, and what is not.
#
#   slurm.conf:  HealthCheckProgram=/usr/libexec/sextant/slurm-health-check.sh
#                HealthCheckInterval=3600
#                HealthCheckNodeState=IDLE
#
# It only reads what was measured, in $SEXTANT_CALIBRATIONS. With SEXTANT_MEASURE=1 it measures
# first, which takes an idle node and some 2 s of the 60 s after which Slurm kills it.
# It ends with 0 whatever it finds: at its start slurmd waits for a 0 before it registers the node,
# and a node that does not register can't be drained with a reason.
set -uo pipefail

folder=${SEXTANT_CALIBRATIONS:-/var/lib/sextant-probe}
node=${SLURMD_NODENAME:-$(hostname -s)}
fresh=()
[[ "${SEXTANT_MEASURE:-0}" = 1 ]] && fresh=(--measure "--keep=$folder")

output=$(sextant-probe check "${fresh[@]}" "$folder")
code=$?
first=${output%%$'\n'*}
reason=${first%% | *}

if [[ $code -eq 2 ]]; then
  # Drained already: whoever did it, the reason stays.
  if ! scontrol -o show node "$node" | grep -q DRAIN; then
    scontrol update "NodeName=$node" State=DRAIN "Reason=$reason"
  fi
elif [[ $code -ne 0 ]]; then
  logger -t sextant-probe "$reason" || true
fi
exit 0
