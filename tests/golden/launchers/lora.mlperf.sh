#!/bin/bash
source $(dirname ${BASH_SOURCE[0]})/config_common.sh

export MAX_STEPS=800
export LR=0.0004
export MINIBS=2

export TP=2
export PP=1
export CP=2
export SP=1
export MBS=1
export FP8=True
export FP8_AMAX_ALGO=max

export DGXNNODES=2
export WALLTIME_MINUTES=30
export WALLTIME=$(( (${NEXP:-1} * WALLTIME_MINUTES) ))
