source $(dirname ${BASH_SOURCE[0]})/config_common.sh
source $(dirname ${BASH_SOURCE[0]})/config_common_405b.sh

# Samples of a step on each replica of the model.
export MINIBS=36
export TENSOR_MODEL_PARALLEL=8
export PIPELINE_MODEL_PARALLEL=8
export INTERLEAVED_PIPELINE=8
export CONTEXT_PARALLEL=2
export MICRO_BATCH_SIZE=1
export TP_COMM_OVERLAP=True
export ASYM_PP_EMBED=True
export ASYM_PP_LOSS=True
export FP8=True
export FP8_PARAM_GATHER=True
export NCCL_MIN_CTAS=16
export MAX_STEPS="${MAX_STEPS:=400}"

export DGXNNODES="${DGXNNODES:=128}"
export DGXNGPU=8
export DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//')
if [ $MINIBS -eq 36 ]; then
    export VBOOST_VALUE=1
fi
export WALLTIME_RUNANDTIME=100
export WALLTIME=$((5 + ${NEXP:-1} * ($WALLTIME_RUNANDTIME + 5)))
