use super::*;

fn scripts() -> Scripts {
    Scripts::new().unwrap()
}

fn ramdisk(kernel_args: &str, custom: Option<&str>) -> Result<String, ScriptError> {
    let urls = Urls::http(std::net::SocketAddrV4::new([10, 77, 0, 1].into(), 8080));
    let kernel_line = KernelLine::parse("console=ttyS0 panic=10").unwrap();
    let boot_id = BootId(0xabc);
    let [kernel, initrd] = [paths::KERNEL, paths::INITRD].map(|file| urls.of_boot(boot_id, file));
    let (server, kernel_line) = (urls.root(), &kernel_line);
    scripts().ramdisk(&Start { boot_id, server, kernel, initrd, kernel_line, kernel_args, custom })
}

#[test]
fn scripts_are_exactly_these() {
    for (script, golden) in [
        (ramdisk("", None), include_str!("golden/ramdisk.ipxe")),
        (scripts().hold(None), include_str!("golden/hold.ipxe")),
        (scripts().refused("this boot is not served"), include_str!("golden/refused.ipxe")),
        (scripts().local(), include_str!("golden/local.ipxe")),
        (scripts().live("http://10.77.0.9/live.iso"), include_str!("golden/live.ipxe")),
        (ramdisk("", Some("http://10.77.0.9/own.ipxe")), include_str!("golden/custom.ipxe")),
    ] {
        let script = script.unwrap();
        if script != golden {
            println!("{script}");
        }
        assert_eq!(script, golden);
    }
}

#[test]
fn scripts_without_a_boot_never_name_one() {
    for script in [scripts().local(), scripts().hold(None), scripts().refused("x")].map(Result::unwrap) {
        assert!(script.starts_with("#!ipxe\n") && !script.contains("/b/"), "{script}");
    }
}

#[test]
fn no_script_asks_anybody_anything() {
    for script in every_script() {
        for word in ["prompt", "menu", "choose", "item", "shell", "read", "login"] {
            let commands = script.lines().map(|line| line.split(' ').next().unwrap_or_default());
            assert!(!commands.into_iter().any(|command| command == word), "{word}: {script}");
        }
    }
}

#[test]
fn every_failure_leads_back_to_a_question() {
    // A script that ends without `exit 1` leaves firmware to its next entry: the disk of a host that must not boot it.
    for script in every_script().into_iter().filter(|script| !script.contains("exit 1")) {
        let last = script.lines().last().unwrap();
        assert_eq!(last, "chain --replace ${filename} || goto again", "{script}");
        assert!(script.contains("\n:again\n"));
        for line in script.lines() {
            let risky = ["kernel", "initrd", "boot", "chain", "dhcp", "isset", "sanboot"];
            let command = line.split(' ').next().unwrap();
            assert!(!risky.contains(&command) || line.ends_with("|| goto again"), "{line}");
        }
    }
}

#[test]
fn c104_no_address_is_asked_for_by_the_kernel_unless_an_operator_says_so() {
    let plain = ramdisk("", None).unwrap();
    assert!(!plain.contains("ip=dhcp") && plain.contains(" BOOTIF=01-${netX/mac:hexhyp} "), "{plain}");
    assert!(ramdisk("ip=dhcp vlan=eth0.100:eth0", None).unwrap().contains(" ip=dhcp vlan=eth0.100:eth0 "));
}

#[test]
fn c106_a_broken_custom_script_is_no_script_at_all() {
    for bad in [
        "ftp:// bad",
        "echo no first line\nshell\n",
        "#!ipxe\nkernel {{ no_such_name }}\n",
        "#!ipxe\n{% for x in range(100000000) %}{{ x }}{% endfor %}\n",
        "#!ipxe\n{{ kernel\n",
        "",
    ] {
        assert!(ramdisk("", Some(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_custom_script_is_filled_in() {
    let script = ramdisk("quiet", Some("#!ipxe\nkernel {{ kernel }} {{ kernel_args }}\n")).unwrap();
    let expected = format!(
        "#!ipxe\nkernel http://10.77.0.1:8080/b/{}/kernel BOOTIF=01-${{netX/mac:hexhyp}} console=ttyS0 panic=10 quiet\n",
        BootId(0xabc)
    );
    assert_eq!(script, expected);
}

#[test]
fn c116_after_the_card_that_booted_the_others_are_tried() {
    let line = "dhcp netX || ifconf netX || ifconf || goto again";
    let asking = every_script().into_iter().filter(|script| script.lines().any(|other| other == line)).count();
    assert_eq!(asking, 5);
}

#[test]
fn c121_nothing_returns_to_a_script_of_ours() {
    for script in every_script() {
        for line in script.lines().filter(|line| line.starts_with("chain")) {
            assert!(line.starts_with("chain --replace "), "{line}");
        }
    }
    // ipxe#1324: `sanboot` of a disk starts its removable media path.
    assert!(!scripts().local().unwrap().contains("sanboot"));
    assert!(scripts().local().unwrap().ends_with("\nexit 1\n"));
}

#[test]
fn c122_the_kernel_line_says_each_thing_in_its_own_field() {
    let script = ramdisk("bessemer.controller=https://[fd00::1]:8443", None).unwrap();
    let line = script.lines().find(|line| line.starts_with("kernel ")).unwrap();
    let fields: Vec<_> = line.split(' ').filter_map(|word| word.split_once('=')).collect();
    assert!(fields.contains(&("BOOTIF", "01-${netX/mac:hexhyp}")));
    assert!(fields.contains(&("bessemer.controller", "https://[fd00::1]:8443")));
}

#[test]
fn values_that_would_become_commands_are_refused() {
    for bad in ["x\nexit", "x || exit", "x=${password}", "a ; shell"] {
        assert!(ramdisk(bad, None).is_err() && scripts().hold(Some(bad)).is_err() && scripts().live(bad).is_err());
    }
}

fn every_script() -> Vec<String> {
    let all = [
        ramdisk("", None),
        ramdisk("", Some("http://10.77.0.9/own.ipxe")),
        scripts().hold(None),
        scripts().refused("this boot is not served"),
        scripts().local(),
        scripts().live("http://10.77.0.9/live.iso"),
    ];
    all.map(Result::unwrap).into()
}
