# enter.sh FOLDER BASE AGENT NAME ADDRESS: from the test's namespaces to a host's own. FOLDER/upper holds what the host has besides
# BASE, FOLDER/containerd its container images; FOLDER/setup.sh is sourced before the host's own root is taken.
set -eu
folder=$1 base=$2 agent=$3 name=$4 address=$5
groups=/sys/fs/cgroup
controllers="cpu cpuacct cpuset memory devices freezer blkio pids systemd"
for controller in $controllers; do
    group=$groups/$controller/$(cat "$folder/cgroup")
    mkdir -p "$group"
    if [ "$controller" = cpuset ]; then
        cat $groups/cpuset/cpuset.cpus >"$group/cpuset.cpus"
        cat $groups/cpuset/cpuset.mems >"$group/cpuset.mems"
    fi
    echo $$ >"$group/cgroup.procs"
done
export folder base agent name address controllers
exec unshare --mount --uts --ipc --pid --net --cgroup --fork --kill-child --propagation private bash "$folder/inside.sh"
