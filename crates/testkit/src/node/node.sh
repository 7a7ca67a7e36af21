# Process 1 of the namespaces of a node; `node.rs` starts it:
#   unshare --mount --net --pid --uts --ipc --fork --kill-child --mount-proc --propagation private bash node.sh NAME DIR TESTENV
#
# It keeps mounts, links, rules and sysctls of the node away from the machine, starts containerd, the control plane, kubelet and
# kube-proxy, and waits. Nothing outlives it but cgroups, which `node.rs` removes.
set -euo pipefail

readonly NAME=$1 DIR=$2 TESTENV=$3
readonly ADDRESS=10.88.0.1

# === private places for the paths that kubelet, CNI and runc have built in ===

mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir /run/netns
mount -t tmpfs tmpfs /var/lib
mkdir -p /var/lib/kubelet "$DIR"/{kubelet,containerd,etcd,logs,pki,cni,sysctl}
mount --bind "$DIR/kubelet" /var/lib/kubelet
mount --make-rshared /var/lib/kubelet
mount -t tmpfs tmpfs /var/log
mkdir /var/log/pods /var/log/containers
# Without a resolver the pull of a missing image fails at once.
: >"$DIR/resolv.conf"
mount --bind "$DIR/resolv.conf" /etc/resolv.conf

# Kubelet compares sysctls of the whole machine with its own values, and must not write them.
sysctl() {
  echo "$2" >"$DIR/sysctl/${1//\//_}"
  mount --bind "$DIR/sysctl/${1//\//_}" "/proc/sys/$1"
}
sysctl vm/overcommit_memory 1
sysctl vm/panic_on_oom 0
sysctl kernel/panic 10
sysctl kernel/panic_on_oops 1
sysctl kernel/keys/root_maxkeys 1000000
sysctl kernel/keys/root_maxbytes 25000000

for controller in cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
  mkdir -p "/sys/fs/cgroup/$controller/$NAME"
done

# === network ===

ip link set lo up
ip link add node0 type bridge
ip addr add $ADDRESS/24 dev node0
ip link set node0 up
ip route add default dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward

# === files ===

ec_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

cd "$DIR/pki"
ec_key sa.key
openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
ec_key kubelet-ca.key
openssl req -x509 -new -key kubelet-ca.key -subj /CN=kubelet-ca -days 2 -out kubelet-ca.crt
ec_key kc.key
openssl req -new -key kc.key -subj /O=system:masters/CN=apiserver-kubelet-client |
  openssl x509 -req -CA kubelet-ca.crt -CAkey kubelet-ca.key -CAcreateserial -days 2 -out kc.crt 2>/dev/null
cat >tokens.csv <<END
admin-token,admin,admin-uid,"system:masters"
node-token,system:node:n1,node-uid,"system:nodes"
proxy-token,system:kube-proxy,proxy-uid
sched-token,system:kube-scheduler,sched-uid
END
for user in admin node proxy sched; do
  cat >"$user.kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: node
clusters: [{name: node, cluster: {server: "https://$ADDRESS:6443", insecure-skip-tls-verify: true}}]
users: [{name: node, user: {token: $user-token}}]
contexts: [{name: node, context: {cluster: node, user: node}}]
END
done

cat >"$DIR/cni/10-node.conflist" <<'END'
{"cniVersion":"0.4.0","name":"node","plugins":[
 {"type":"bridge","bridge":"cni0","isGateway":true,"hairpinMode":true,"ipMasq":false,
  "ipam":{"type":"host-local","dataDir":"/run/cni-ipam","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
END
cat >"$DIR/containerd.toml" <<END
version = 2
root = "$DIR/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.invalid/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$DIR/cni"
END
cat >"$DIR/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $ADDRESS
port: 10250
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $DIR/pki/kubelet-ca.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$NAME
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: [pods]
protectKernelDefaults: true
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: ""
# How soon a changed Secret is in a pod.
syncFrequency: 5s
configMapAndSecretChangeDetectionStrategy: Watch
volumePluginDir: /var/lib/kubelet/volumeplugins
END

# === processes ===

start() {
  local log=$1
  shift
  "$@" >"$DIR/logs/$log" 2>&1 </dev/null &
}

start containerd containerd -c "$DIR/containerd.toml"
start etcd "$TESTENV" etcd --data-dir "$DIR/etcd" --unsafe-no-fsync --log-level error
start kube-apiserver "$TESTENV" kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 \
  --bind-address=0.0.0.0 --advertise-address=$ADDRESS --cert-dir="$DIR/pki/certs" \
  --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --token-auth-file="$DIR/pki/tokens.csv" \
  --service-account-issuer=https://kubernetes.default.svc.cluster.local \
  --service-account-key-file="$DIR/pki/sa.pub" --service-account-signing-key-file="$DIR/pki/sa.key" \
  --service-cluster-ip-range=10.96.0.0/16 --kubelet-preferred-address-types=InternalIP \
  --kubelet-client-certificate="$DIR/pki/kc.crt" --kubelet-client-key="$DIR/pki/kc.key"

until [[ -S /run/containerd/containerd.sock ]]; do sleep 0.1; done
for image in "$DIR"/images/*.tar; do
  ctr --address /run/containerd/containerd.sock --namespace k8s.io images import "$image" >>"$DIR/logs/images" 2>&1
done
kubectl() { "$TESTENV" kubectl --kubeconfig "$DIR/pki/admin.kubeconfig" "$@" 2>/dev/null; }
until [[ $(kubectl get --raw /readyz) == ok ]]; do sleep 0.1; done
start kube-controller-manager "$TESTENV" kube-controller-manager --kubeconfig="$DIR/pki/admin.kubeconfig" \
  --leader-elect=false --service-account-private-key-file="$DIR/pki/sa.key" \
  --root-ca-file="$DIR/pki/certs/apiserver.crt" --use-service-account-credentials=false --secure-port=0 \
  --controllers='*,-nodeipam,-tokencleaner,-bootstrapsigner'
start kube-scheduler "$TESTENV" kube-scheduler --kubeconfig="$DIR/pki/sched.kubeconfig" --leader-elect=false --secure-port=0
start kubelet "$TESTENV" kubelet --config="$DIR/kubelet.yaml" --kubeconfig="$DIR/pki/node.kubeconfig" \
  --hostname-override=n1 --node-ip=$ADDRESS
start kube-proxy "$TESTENV" kube-proxy --kubeconfig="$DIR/pki/proxy.kubeconfig" --hostname-override=n1 \
  --proxy-mode=nftables --cluster-cidr=10.244.0.0/16 --conntrack-max-per-core=0
# A pod is admitted when its service account exists, and scheduled when the node is ready.
until kubectl get serviceaccount default && [[ $(kubectl get nodes -o jsonpath='{.items[*].status.conditions[?(@.type=="Ready")].status}') == True ]]; do
  sleep 0.1
done >/dev/null
echo ready
# Orphans of ended containers are reaped as well.
while :; do wait || :; sleep 1; done
