#!/bin/bash
#SBATCH --open-mode=append
# Adds up 1 to LAST, one number a second. At SIGTERM it saves its state and exits with 85; run again, it resumes.
#
#   ADMINKIT_CKPT=TERM@300,requeue=10,target=shell sbatch sum.sh LAST FILE
last=$1 file=$2

save() { echo "$n $sum" >"$file.new" && mv "$file.new" "$file"; }
trap 'save; exit 85' TERM

n=0 sum=0
[ -e "$file" ] && read -r n sum <"$file"
while [ "$n" -lt "$last" ]; do
    sleep "${PAUSE:-1}" & wait $! # a trap has to wait for a running command, but not for `wait`
    n=$((n + 1)) sum=$((sum + n))
done
save
echo "the sum of 1 to $last is $sum"
