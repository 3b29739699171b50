#!/usr/bin/env bash
# Runs the README's commands on the bundled digits, in the folder quickstart/, and keeps the report there.
set -euo pipefail
limn=$(cd "$(dirname "$1")" && pwd)
mkdir -p quickstart
cd quickstart
ln -sfn ../examples examples
export PATH="$limn:$PATH"

show() {
    printf '\n$ %s\n' "$1"
    # head ends a pipe early; that is not a failure.
    bash -o pipefail -c "$1" || [ $? -eq 141 ]
}

show 'limn train examples/data/digits-train.csv.gz -m svm -o svm.limn'
show 'limn accelerate svm.limn --data examples/data/digits-train.csv.gz --test examples/data/digits-test.csv.gz -o fast.limn'
show 'limn train examples/data/digits-train.csv.gz -m nhd -o digits.limn'
show 'limn eval digits.limn examples/data/digits-test.csv.gz' | tee report.txt
show 'limn predict digits.limn examples/data/digits-test.csv.gz | head -3'
show 'limn info digits.limn | head -3'

limn eval digits.limn examples/data/digits-test.csv.gz --json >report.json
printf '\nquickstart/ has the model and the report (report.txt, report.json); the program is %s/limn.\n' "$limn"
