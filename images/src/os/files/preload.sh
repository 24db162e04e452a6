# preload.sh ROOT ARCHIVE: unpacks the images of ARCHIVE (a path inside ROOT) with ROOT's own
# containerd, in namespaces of its own that take every mount and process with them when they end.
set -eu
root=$1
archive=$2
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
chroot "$root" /usr/local/bin/containerd --log-level warn &
containerd=$!
tries=0
until chroot "$root" /usr/local/bin/ctr version >/dev/null 2>&1; do
    kill -0 "$containerd" || exit 1
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "containerd does not answer after 60 s" >&2; exit 1; }
    sleep 0.2
done
# The layers' archives are not kept beside the unpacked files: nobody pulls from this node.
chroot "$root" /usr/local/bin/ctr -n k8s.io images import --local --discard-unpacked-layers "$archive" >&2
chroot "$root" /usr/local/bin/ctr -n k8s.io content prune references >&2
chroot "$root" /usr/local/bin/ctr -n k8s.io images ls -q
kill "$containerd"
wait "$containerd" || true
