//! The node role with a real kubeadm: the ramdisk deploys the Debian image, the machine boots it through UEFI, the agent in it becomes a control
//! plane. Takes about ten minutes under emulation and needs root, so it runs only where the programs of Kubernetes are named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod support;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bessemer_images::cache::Cache;
use bessemer_images::os::{self, OsImageSpec};
use bessemer_images::ramdisk::Variant;
use bessemer_protocol::{
    BootConfig, BootId, Bootstrap, Deploy, Digest, DigestAlgorithm, Down, Image, ImageFormat, LeaveHow, NodePhase,
    Outcome, Role, RootDeviceHints, Seed, Up, Work, WorkId, WorkItem,
};
use support::controller::{Controller, Event};
use support::{image, machine};

/// Names the folder with the static programs of Kubernetes.
const KUBERNETES_VARIABLE: &str = "BESSEMER_TEST_KUBERNETES";
const VERSION: &str = "v1.36.3";
const PROVIDER_ID: &str = "metal3://metal/r1-u1/m0";

const CLOUD_CONFIG: &str = r#"#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  owner: root:root
  permissions: '0640'
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    nodeRegistration:
      name: r1-u1
      imagePullPolicy: Never
    timeouts:
      controlPlaneComponentHealthCheck: 10m0s
      kubeletHealthCheck: 10m0s
      kubernetesAPICall: 10m0s
      etcdAPICall: 10m0s
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    kubernetesVersion: v1.36.3
    controlPlaneEndpoint: 10.0.2.15:6443
    networking: {podSubnet: 10.244.0.0/16}
- path: /run/cluster-api/placeholder
  content: x
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete
- KUBECONFIG=/etc/kubernetes/admin.conf kubectl get node r1-u1 -o jsonpath='PROVIDER={.spec.providerID}' > /dev/console
- df -h / > /dev/console
"#;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

async fn done(controller: &mut Controller, host: bessemer_protocol::HostId, work: Work, seconds: u64) {
    let item =
        WorkItem { id: WorkId::random(), host_id: host, claim: Some("metal/m0".into()), deadline: now() + 3600, work };
    let id = item.id;
    controller.send(&Down::Work(item));
    let outcome = controller
        .wait("result", seconds, |event| match event {
            Event::Up(Up::Result { work_id, outcome }) if work_id == id => Some(outcome),
            _ => None,
        })
        .await;
    controller.send(&Down::Stored { work_id: id });
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployed_host_becomes_a_control_plane() {
    let Some(kubernetes) = std::env::var_os(KUBERNETES_VARIABLE).map(PathBuf::from) else {
        println!("SKIP {KUBERNETES_VARIABLE} names no programs of Kubernetes");
        return;
    };
    if let Some(reason) =
        machine::missing().or_else(|| (!Path::new(machine::UEFI_CODE).exists()).then(|| "OVMF is missing".into()))
    {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let agent = machine::agent(folder.path());
    let cache = Cache::from_env().unwrap();
    let spec = OsImageSpec::kubernetes(kubernetes, VERSION.into(), agent, Variant::Cloud, cache);
    let built = os::build(&spec, &mut |line| println!("{line}")).unwrap();
    println!("image: {} bytes, {} raw", built.size, built.raw_size);
    let images = image::serve(Vec::new(), std::fs::read(&built.path).unwrap()).await;
    let mut controller = Controller::start().await;
    let host = controller.host;
    let disk = folder.path().join("disk");
    File::create(&disk).unwrap().set_len(8 << 30).unwrap();
    let config = BootConfig {
        controllers: vec![format!("https://10.0.2.2:{}", controller.port)],
        ca: controller.ca.clone(),
        token: "t0ken".into(),
        boot_id: BootId::random(),
        time: now(),
        network: None,
    };
    let mut ramdisk = machine::Machine::boot(folder.path(), &config, &disk);
    controller.wait("hello", 120, |event| matches!(event, Event::Up(Up::Hello { .. })).then_some(())).await;
    let deploy = Work::Deploy(Deploy {
        sources: vec![format!("http://10.0.2.2:{images}/zst")],
        image: Image {
            format: ImageFormat::Raw,
            checksum: Digest { algorithm: DigestAlgorithm::Sha256, hex: built.sha256 }.into(),
        },
        root: RootDeviceHints::default(),
        disk: None,
        keep: Vec::new(),
        seed: Seed { hostname: "r1-u1".into(), instance_id: "i-1".into(), ..Seed::default() },
    });
    done(&mut controller, host, deploy, 900).await;
    println!("deployed {:.0} s after power on", ramdisk.started.elapsed().as_secs_f32());
    done(&mut controller, host, Work::Leave { how: LeaveHow::PowerOff }, 60).await;
    assert!(ramdisk.wait_off(30));
    println!("{}", ramdisk.said());

    let node = machine::Machine::boot_disk(folder.path(), &disk);
    controller
        .wait("hello of the node", 300, |event| {
            matches!(event, Event::Up(Up::Hello { role: Role::Node, .. })).then_some(())
        })
        .await;
    println!("the node role said hello {:.0} s after power on", node.started.elapsed().as_secs_f32());
    controller.set_bootstrap(Bootstrap {
        claim: "metal/m0".into(),
        format: "cloud-config".into(),
        data: CLOUD_CONFIG.into(),
        provider_id: PROVIDER_ID.into(),
    });
    let report = controller
        .wait("end of the bootstrap", 1500, |event| match event {
            Event::Up(Up::Node(report)) => {
                println!("[{:6.1}] {:?}", node.started.elapsed().as_secs_f32(), report.phase);
                matches!(report.phase, NodePhase::Done | NodePhase::Failed { .. }).then_some(report)
            }
            _ => None,
        })
        .await;
    assert_eq!(report.phase, NodePhase::Done, "{}", node.console());
    println!("{report:?}");
    assert_eq!(report.addresses[0].address, "10.0.2.15");
    assert!(node.console().contains(&format!("PROVIDER={PROVIDER_ID}")), "{}", node.console());
}
