//! What belongs to one boot.

use super::*;

#[tokio::test]
async fn the_initrd_is_the_ramdisk_padding_and_the_overlay_each_time() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    let target = boot(7, "initrd");
    let whole = client.get(&target).await;
    assert!(whole.body.starts_with(b"ramdisk\x00070701"), "{whole:?}");
    assert_eq!(client.get(&target).await, whole);
    let head = client.ask("HEAD", &target, "").await;
    assert_eq!((head.status, &head.fields), (200, &whole.fields));
    let part = client.ask("GET", &target, "Range: bytes=5-12\r\n").await;
    assert_eq!((part.status, part.body.as_slice()), (206, &whole.body[5..13]));
    assert_eq!(part.field("content-range"), Some(format!("bytes 5-12/{}", whole.body.len()).as_str()));
    assert_eq!(part.field("etag"), whole.field("etag"));
    let beyond = client.ask("GET", &target, "Range: bytes=9999-\r\n").await;
    assert_eq!((beyond.status, beyond.field("content-length")), (416, Some("0")));
    let mut second = Client::connect(&server).await;
    assert_eq!(second.get(&target).await, whole);
}

#[tokio::test]
async fn a_boot_is_for_its_own_addresses_until_it_is_spent() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    for (id, status) in [(7, 200), (8, 404), (9, 410), (10, 200), (11, 503), (12, 404), (99, 404)] {
        for file in ["kernel", "initrd"] {
            assert_eq!(client.get(&boot(id, file)).await.status, status, "{id} {file}");
        }
    }
    assert_eq!(client.get(&boot(11, "kernel")).await.field("retry-after"), Some("2"));
    for target in ["/b/7/initrd".to_owned(), boot(7, ""), boot(7, "token"), boot(7, "x/initrd"), boot(7, "boot.iso")] {
        assert_eq!(client.get(&target).await.status, 404, "{target}");
    }
    assert_eq!(client.ask("POST", &boot(7, "initrd"), "Content-Length: 0\r\n").await.status, 405);
}

/// Beside another DHCP server no lease says where the boot is.
#[tokio::test]
async fn a_boot_without_a_lease_is_for_the_address_that_was_heard_or_asked_first() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    server.bindings.learn(BootId(16), [10, 79, 0, 9].into(), Instant::now());
    for (id, status) in [(15, 200), (16, 404)] {
        assert_eq!(client.get(&boot(id, "initrd")).await.status, status, "{id}");
    }
    assert!(!server.bindings.admits(BootId(15), &[], [10, 79, 0, 9].into(), Instant::now()));
    let held = String::from_utf8(client.get(&boot(16, "boot.ipxe")).await.body).unwrap();
    assert!(held.contains("this boot is not served") && !held.contains("/b/"), "{held}");
}

/// What begins a boot is never refused: iPXE and firmware would go on to the disk and the previous tenant's system.
#[tokio::test]
async fn a_refused_start_holds_the_host_instead_of_leaving_it_to_its_disk() {
    let server = serve(Settings { has_arm64: true, ..Settings::default() });
    let mut client = Client::connect(&server).await;
    let whys = [
        (8, "another address's boot"),
        (9, "this boot's overlay is spent"),
        (12, "this boot is by virtual media"),
        (13, "`ftp:// bad` is no http, https or tftp URL without spaces"),
        (99, "no such boot"),
    ];
    for (id, why) in whys {
        for file in ["boot.ipxe", "boot-arm64.ipxe"] {
            for method in ["GET", "HEAD"] {
                let held = client.ask(method, &boot(id, file), "").await;
                assert_eq!(held.status, 200, "{method} {id} {file}");
                let script = String::from_utf8(held.body).unwrap();
                assert!(method == "HEAD" || script.starts_with("#!ipxe\n"), "{script}");
                assert!(
                    method == "HEAD" || script.ends_with("\nchain --replace ${filename} || goto again\n"),
                    "{script}"
                );
                // Nothing of the boot, and no end to the asking.
                assert!(!["poweroff", "exit", "/b/", "secret"].iter().any(|word| script.contains(word)), "{script}");
                let told = server.directory.told.lock().unwrap();
                assert_eq!(told.last().unwrap().why.as_deref(), Some(why));
            }
        }
        if id != 13 {
            assert_eq!(client.get(&boot(id, "boot.efi")).await.body, b"an iPXE", "{id}");
        }
    }
    assert_eq!(client.get(&boot(11, "boot.ipxe")).await.field("retry-after"), Some("2"));
    assert_eq!(client.get(&boot(11, "boot.efi")).await.status, 503);
    assert_eq!(client.get(&boot(9, "boot2.ipxe")).await.status, 404);
    let no_arm64 = serve(Settings::default());
    assert_eq!(Client::connect(&no_arm64).await.get(&boot(9, "boot-arm64.ipxe")).await.status, 404);
}

#[tokio::test]
async fn discovery_has_no_overlay() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    assert_eq!(client.get(&boot(10, "initrd")).await.body, b"ramdisk");
    let plain = client.get(&boot(10, "boot.efi")).await.body;
    let with = client.get(&boot(7, "boot.efi")).await.body;
    assert!(!plain.windows(6).any(|window| window == b"070701") && with.windows(6).any(|window| window == b"070701"));
}

#[tokio::test]
async fn arm64_has_files_of_its_own_if_there_are_any() {
    let both = serve(Settings { has_arm64: true, ..Settings::default() });
    let mut client = Client::connect(&both).await;
    let script = String::from_utf8(client.get(&boot(7, "boot-arm64.ipxe")).await.body).unwrap();
    assert!(script.contains("/kernel-arm64 initrd=initrd ") && script.contains("/initrd-arm64 ||"), "{script}");
    assert_eq!(client.get(&boot(7, "kernel-arm64")).await.body, b"kernel-arm64");
    assert!(client.get(&boot(7, "initrd-arm64")).await.body.starts_with(b"ramdisk-arm64\0\0\x00070701"));
    let one = serve(Settings::default());
    assert_eq!(Client::connect(&one).await.get(&boot(7, "boot-arm64.ipxe")).await.status, 404);
}

#[tokio::test]
async fn the_uki_carries_the_overlay_in_its_initrd() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    let head = client.ask("HEAD", &boot(7, "boot.efi"), "").await;
    let uki = client.get(&boot(7, "boot.efi")).await;
    assert_eq!((uki.status, uki.field("content-type"), &uki.fields), (200, Some("application/efi"), &head.fields));
    assert!(uki.body.windows(14).any(|window| window == b"ramdisk\x00070701"));
    assert_ne!(uki.field("etag"), client.get(&boot(10, "boot.efi")).await.field("etag"));
}

#[tokio::test]
async fn the_iso_is_for_the_bmc_and_its_slot_holds_the_overlay() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut octets = vec![1; 40 * 2048];
    octets[16 * 2048 + 1..16 * 2048 + 6].copy_from_slice(b"CD001");
    octets[20 * 2048..20 * 2048 + 32].copy_from_slice(&crate::media::SLOT_MAGIC);
    octets[20 * 2048 + 32..20 * 2048 + 40].copy_from_slice(&4096_u64.to_le_bytes());
    std::fs::write(file.path(), &octets).unwrap();
    let server = serve(Settings { iso: Some(file.path().into()), ..Settings::default() });
    let mut client = Client::connect(&server).await;
    let whole = client.get(&boot(12, "boot.iso")).await;
    assert_eq!((whole.status, whole.field("content-type")), (200, Some("application/vnd.efi-iso")));
    assert_eq!(whole.body.len(), octets.len());
    assert!(whole.body[20 * 2048..].starts_with(b"070701"));
    assert!(whole.body[..20 * 2048] == octets[..20 * 2048] && whole.body[22 * 2048..] == octets[22 * 2048..]);
    // Across both ends of the slot.
    let part = client.ask("GET", &boot(12, "boot.iso"), "Range: bytes=40950-45060\r\n").await;
    assert_eq!((part.status, part.body == whole.body[40950..=45060]), (206, true));
    assert_eq!(client.get(&boot(7, "boot.iso")).await.status, 404, "a boot from the network has no ISO");
}

#[tokio::test]
async fn a_live_systems_script_is_under_its_boot_and_names_a_url_of_any_length() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    let script = String::from_utf8(client.get(&boot(17, "boot.ipxe")).await.body).unwrap();
    assert!(script.contains(&format!("\nsanboot --no-describe --keep {} || goto again\n", live())), "{script}");
    for file in ["kernel", "initrd", "boot.iso"] {
        assert_eq!(client.get(&boot(17, file)).await.status, 404, "{file}");
    }
    let held = client.get(&boot(18, "boot.ipxe")).await;
    let script = String::from_utf8(held.body).unwrap();
    assert!(held.status == 200 && script.contains("not served, asking again") && !script.contains("iso"), "{script}");
    assert_eq!(client.get("/live/aHR0cDovL3gveS5pc28.ipxe").await.status, 404);
}

#[tokio::test]
async fn c106_in_the_place_of_a_wrong_custom_script_nothing_is_booted() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    let wrong = client.get(&boot(13, "boot.ipxe")).await;
    // Not 500 either, after which the disk would be booted.
    let script = String::from_utf8(wrong.body).unwrap();
    assert!(script.contains("this boot is not served, asking again") && !script.contains("/b/"), "{script}");
    let own = client.get(&boot(14, "boot.ipxe")).await;
    assert_eq!(own.body, format!("#!ipxe\necho http://{}{}\n", server.at, boot(14, "kernel")).into_bytes());
    let told = server.directory.told.lock().unwrap();
    assert_eq!(told[0].why.as_deref(), Some("`ftp:// bad` is no http, https or tftp URL without spaces"));
}

/// By another server, or before this one was started.
#[tokio::test]
async fn starts_that_others_saw_count_and_so_does_a_uki_that_is_read_by_parts() {
    let loops = LoopLimits { starts: 2, same_start: Duration::ZERO };
    let server = serve(Settings { loops, ..Settings::default() });
    let mut client = Client::connect(&server).await;
    let part = |range: &str| format!("Range: bytes={range}\r\n");
    assert_eq!(client.ask("GET", &boot(7, "boot.efi"), &part("0-9")).await.status, 206);
    assert_eq!(client.ask("GET", &boot(7, "boot.efi"), &part("10-19")).await.status, 206);
    assert_eq!(*server.directory.started.lock().unwrap(), 1);
    *server.directory.started.lock().unwrap() = 2;
    let script = String::from_utf8(client.get(&boot(7, "boot.ipxe")).await.body).unwrap();
    assert!(script.contains("started too often"), "{script}");
    assert_eq!(*server.directory.loops.lock().unwrap(), [(BootId(7), 3)]);
}

#[tokio::test]
async fn a_boot_started_too_often_is_turned_off_and_told_once() {
    let loops = LoopLimits { starts: 2, same_start: Duration::ZERO };
    let server = serve(Settings { loops, ..Settings::default() });
    let mut client = Client::connect(&server).await;
    *server.directory.deaf.lock().unwrap() = 2;
    // Neither sizes, parts, refusals nor other files are starts.
    for _ in 0..5 {
        client.ask("HEAD", &boot(7, "boot.efi"), "").await;
        client.ask("GET", &boot(7, "boot.efi"), "Range: bytes=5-9\r\n").await;
        client.get(&boot(7, "kernel")).await;
        client.get(&boot(9, "boot.ipxe")).await;
    }
    for _ in 0..2 {
        let script = String::from_utf8(client.get(&boot(7, "boot.ipxe")).await.body).unwrap();
        assert!(script.contains("/kernel "), "{script}");
    }
    assert!(server.directory.loops.lock().unwrap().is_empty());
    for _ in 0..3 {
        let script = String::from_utf8(client.get(&boot(7, "boot.ipxe")).await.body).unwrap();
        assert!(script.contains("started too often") && script.contains("\npoweroff ||\n"), "{script}");
        // Not 404, after which firmware would boot the disk.
        assert_eq!(client.get(&boot(7, "boot.efi")).await.body, b"an iPXE");
    }
    // Told until the directory has heard it.
    assert_eq!(*server.directory.loops.lock().unwrap(), [(BootId(7), 5)]);
    // Discovery: nobody owns that machine.
    for _ in 0..4 {
        assert!(client.get(&boot(10, "boot.ipxe")).await.body.windows(7).any(|window| window == b"/kernel"));
    }
}

#[tokio::test]
async fn every_request_is_told() {
    let server = serve(Settings::default());
    let mut client = Client::connect(&server).await;
    client.ask("GET", &boot(7, "kernel"), "User-Agent: iPXE/1.0.0+\r\n").await;
    client.ask("HEAD", &boot(7, "boot.efi"), "User-Agent: UefiHttpBoot/1.0\r\n").await;
    client.get(&boot(9, "initrd")).await;
    let told = server.directory.told.lock().unwrap();
    let lines: Vec<_> = told
        .iter()
        .map(|exchange| (exchange.phase.name(), exchange.answer.to_string(), exchange.boot_id, exchange.why.clone()))
        .collect();
    let spent = Some("this boot's overlay is spent".into());
    assert_eq!(
        lines,
        [
            ("ipxe", "sent 6 bytes".into(), Some(BootId(7)), None),
            ("http-firmware", "noted".into(), Some(BootId(7)), None),
            ("unknown", "refused (410)".into(), Some(BootId(9)), spent),
        ]
    );
    assert!(told.iter().all(|exchange| exchange.peer == Some(HERE.into()) && *exchange.interface == *"lo"));
}
