use super::super::{Ipxe, Ramdisk, Route, TftpLimits};
use super::*;
use crate::pool::Pool;

fn on_link() -> Subnet {
    let pool = Pool::new([10, 77, 0, 100].into(), [10, 77, 0, 200].into()).unwrap();
    let prefix = "10.77.0.0/24".parse().unwrap();
    Subnet { pool: Some(pool), ..Subnet::new(prefix, Reach::OnLink("br0".into())) }
}

fn config() -> Config {
    Config {
        interfaces: vec![Interface::new("br0", [10, 77, 0, 1].into()), Interface::new("br1", [10, 78, 0, 1].into())],
        subnets: vec![on_link(), Subnet::new("10.79.0.0/16".parse().unwrap(), Reach::Relayed)],
        http_port: 8080,
        tftp: TftpLimits::default(),
        ipxe: Ipxe::default(),
        ramdisk: Ramdisk::default(),
        ..Config::default()
    }
}

#[test]
fn what_cannot_work_is_said_in_words() {
    type Change = fn(&mut Config);
    let cases: &[(&str, Change)] = &[
        ("", |_| {}),
        ("no interface is named: a boot server needs one towards the hosts or their relay agents", |config| {
            config.interfaces.clear();
        }),
        ("`a/b` is no name of an interface (1 to 15 characters, no space and no slash)", |config| {
            config.interfaces[0].name = "a/b".into();
        }),
        ("br0 is configured twice: name each interface and each of our addresses once", |config| {
            config.interfaces[1].name = "br0".into();
        }),
        ("10.77.0.1 is configured twice: name each interface and each of our addresses once", |config| {
            config.interfaces[1].address = config.interfaces[0].address;
        }),
        ("0.0.0.0 of br1 is no address that hosts can reach", |config| {
            config.interfaces[1].address = Ipv4Addr::UNSPECIFIED;
        }),
        ("the subnet 10.77.0.0/24 is said to be on eth9, which is not one of the interfaces", |config| {
            config.subnets[0].reach = Reach::OnLink("eth9".into());
        }),
        ("the subnet 10.77.0.0/24 is said to be on br1, whose address 10.78.0.1 lies outside it", |config| {
            config.subnets[0].reach = Reach::OnLink("br1".into());
        }),
        (
            "the subnets 10.77.0.0/24 and 10.77.0.0/25 are both on br0: one interface has one subnet; serve the other \
          through a relay",
            |config| {
                config.subnets[1].reach = Reach::OnLink("br0".into());
                config.subnets[1].prefix = "10.77.0.0/25".parse().unwrap();
            },
        ),
        ("the subnets 10.77.0.0/24 and 10.0.0.0/8 overlap", |config| {
            config.subnets[1].prefix = "10.0.0.0/8".parse().unwrap();
        }),
        ("the subnet 10.79.0.0/31 is too small or too large: its prefix has 1 to 30 bits", |config| {
            config.subnets[1].prefix = "10.79.0.0/31".parse().unwrap();
        }),
        ("the pool 10.77.0.100-10.77.0.200 lies outside the subnet 10.79.0.0/16", |config| {
            config.subnets[1].pool = config.subnets[0].pool.clone();
        }),
        ("the pool 10.77.0.100-10.77.0.200 holds 10.77.0.150, which is this server's or a router's", |config| {
            config.subnets[0].router = Some([10, 77, 0, 150].into());
        }),
        ("the pool 10.77.0.100-10.77.0.200 holds 10.77.0.150, which is this server's or a router's", |config| {
            config.interfaces[0].address = [10, 77, 0, 150].into();
        }),
        ("the router 10.78.0.1 lies outside the subnet 10.77.0.0/24", |config| {
            config.subnets[0].router = Some([10, 78, 0, 1].into());
        }),
        ("the subnet 10.77.0.0/24 names too many name servers: at most 63", |config| {
            config.subnets[0].dns = vec![[10, 77, 0, 1].into(); 64];
        }),
        ("the subnet 10.77.0.0/24 names too many routes: at most 27", |config| {
            let route = Route { to: "10.0.0.0/8".parse().unwrap(), via: Ipv4Addr::UNSPECIFIED };
            config.subnets[0].routes = vec![route; 28];
        }),
        ("`a b` of the subnet 10.77.0.0/24 is no domain name", |config| {
            config.subnets[0].domain = Some("a b".into());
        }),
        ("the lease time 5s of the subnet 10.77.0.0/24 is out of range: one minute to 136 years", |config| {
            config.subnets[0].lease_time = Duration::from_secs(5);
        }),
        (
            "the kernel arguments contain a line break or another control character, which would begin another command of the \
          script",
            |config| {
                config.ramdisk.kernel_args = "a\nshell".into();
            },
        ),
        // Nothing of a subnet without DHCP is looked at.
        ("", |config| {
            config.subnets[0].mode = Mode::Proxy;
            config.subnets[0].router = Some([10, 78, 0, 1].into());
        }),
    ];
    for (said, change) in cases {
        let mut config = config();
        change(&mut config);
        assert_eq!(config.check().err().map(|error| error.to_string()).unwrap_or_default(), *said);
    }
}
