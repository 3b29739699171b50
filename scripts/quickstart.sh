#!/usr/bin/env bash
# Trains and evaluates a model on the bundled digits; writes model and report to quickstart/.
set -eu
limn=$1
data=$(cd "$(dirname "$0")/../examples/data" && pwd)
mkdir -p quickstart

echo
echo "\$ limn train examples/data/digits-train.csv.gz -m knn -p k=3 -o quickstart/digits.limn"
"$limn" train "$data/digits-train.csv.gz" -m knn -p k=3 -o quickstart/digits.limn
echo
echo "\$ limn eval quickstart/digits.limn examples/data/digits-test.csv.gz"
"$limn" eval quickstart/digits.limn "$data/digits-test.csv.gz" | tee quickstart/report.txt
"$limn" eval quickstart/digits.limn "$data/digits-test.csv.gz" --json >quickstart/report.json
echo
echo "\$ limn predict quickstart/digits.limn examples/data/digits-test.csv.gz --proba | head -3"
"$limn" predict quickstart/digits.limn "$data/digits-test.csv.gz" --proba >quickstart/answers.csv
head -3 quickstart/answers.csv
echo
echo "The report is in quickstart/report.txt and quickstart/report.json."
