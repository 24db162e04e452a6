# The host's first process: its devices, mounts and programs. What the kubelet wants to write into the machine's own settings lies in
# plain files bound over them.
set -eu
hostname "$name"
root=$folder/root
mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$root"
# Not on an overlay: containerd makes overlays of its own in it.
mount --bind "$folder/containerd" "$root/var/lib/containerd"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
for controller in $controllers; do
    mkdir "$root/sys/fs/cgroup/$controller"
    kind=$controller
    [ "$controller" = systemd ] && kind=none,name=systemd
    mount -t cgroup -o "$kind" cgroup "$root/sys/fs/cgroup/$controller"
done
mkdir -p "$folder/sysctl"
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=$folder/sysctl/$(echo "${setting%=*}" | tr / _)
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "$root/proc/sys/${setting%=*}"
done
touch "$root/usr/local/bin/bessemer-agent"
mount --bind "$agent" "$root/usr/local/bin/bessemer-agent"
# The test puts our end of the cable here.
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip addr add "$address/24" dev eth0
ip link set eth0 up
ip route add default via 10.77.0.1
runtime=yes
. "$folder/setup.sh"
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
mount --make-rshared /
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
if [ "$runtime" = yes ]; then
    containerd --log-level warn >/var/log/containerd.log 2>&1 &
fi
# In place of systemd, which would start the kubelet as kubeadm asks for it.
(
    until [ -f /var/lib/kubelet/config.yaml ] && [ -f /var/lib/kubelet/kubeadm-flags.env ]; do sleep 0.2; done
    while :; do
        . /var/lib/kubelet/kubeadm-flags.env
        # shellcheck disable=SC2086
        kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
            --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS >>/var/log/kubelet.log 2>&1 || true
        sleep 1
    done
) &
while :; do
    bessemer-agent node >>/var/log/agent.log 2>&1 || true
    sleep 1
done
