#!/usr/bin/env bash
# Writes what a shell and man(1) know of the programs in a folder, from what the programs print.
#
#   deploy/manuals.sh PROGRAM_FOLDER OUTPUT_FOLDER [HELP2MAN]
#
# completions/ always; with help2man man1/ and man8/, and slurm/ with those of Slurm's hooks.
# $SOURCE_DATE_EPOCH dates the pages.
set -euo pipefail
export LC_ALL=C.UTF-8

readonly PROGRAMS=$1 OUTPUT=$2 HELP2MAN=${3:-}
here=$(dirname "$(realpath "$0")")
mkdir -p "$OUTPUT"/{completions,man1,man8,slurm/man1,slurm/man8}
for shell in bash zsh fish; do
  "$PROGRAMS/sextant" completion "$shell" >"$OUTPUT/completions/$shell"
done
[[ -n $HELP2MAN ]] || exit 0

# Page $1 of section $2 with summary $3, of command line $4. help2man names it by the first word.
folder=$OUTPUT flags=()
page() {
  local title=${1^^}
  "$HELP2MAN" --no-info --section="$2" --name="$3" "${flags[@]}" "$4" |
    sed "s|^\.TH [^ ]* |.TH $title |; /^\.SH NAME/{n; s|^[^ ]* |$1 |}" >"$folder/man$2/$1.$2"
}

# sextant-probe.1 is of the command: `man sextant probe` looks there.
page sextantd 8 "plans training runs for those who call it" "$PROGRAMS/sextantd"
page sextant-probe 8 "measures the devices of a host" "$PROGRAMS/sextant-probe"
page sextant-probe-check 8 "judges devices by their calibrations" "$PROGRAMS/sextant-probe check"
page sextant 1 "says what a training run costs before it starts" "$PROGRAMS/sextant"
while read -r command summary; do
  page "sextant-$command" 1 "$summary" "$PROGRAMS/sextant $command"
done < <("$PROGRAMS/sextant" --help | sed -n '/^Subcommands:/,/^$/{s/^  \([a-z-]*\)  */\1 /p}')

# Scripts, which have no version of their own.
folder=$OUTPUT/slurm flags=(--version-string="$("$PROGRAMS/sextantd" --version)")
page sextant-sbatch 1 "asks whether a job's run fits, then submits the job" \
  "$here/slurm/sextant-sbatch"
page sextant-slurm 8 "says what Slurm's hooks lack" "$here/slurm/sextant-slurm"
