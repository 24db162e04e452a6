//! Clients that are broken, slow, gone or hostile.

use super::*;

#[tokio::test]
async fn what_is_no_request_gets_its_status_and_the_connection_ends() {
    let server = serve(Settings::default());
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000));
    for (sent, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], 400),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (long.as_bytes(), 431),
        (b"GET /ipxe.efi HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET /ipxe.efi HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"DELETE /ipxe.efi HTTP/1.1\r\n\r\n", 405),
    ] {
        let mut client = Client::connect(&server).await;
        client.send(sent).await;
        let reply = client.reply(false).await;
        assert_eq!((reply.status, reply.field("connection")), (status, Some("close")));
        assert!(client.closes().await);
    }
}

fn hasty() -> HttpLimits {
    let short = Duration::from_millis(300);
    HttpLimits { head: short, stall: short, slowest: 1 << 40, ..HttpLimits::default() }
}

#[tokio::test]
async fn a_head_that_does_not_end_is_not_waited_for() {
    let server = serve(Settings { limits: Some(hasty()), ..Settings::default() });
    let idle = Client::connect(&server).await;
    let mut slow = Client::connect(&server).await;
    let started = Instant::now();
    // An octet now and then, for as long as the server takes it.
    while started.elapsed() < Duration::from_secs(5) && slow.stream.write_all(b"G").await.is_ok() {
        if tokio::time::timeout(Duration::from_millis(50), slow.stream.readable()).await.is_ok() {
            break;
        }
    }
    assert_eq!(slow.reply(false).await.status, 408);
    assert!(idle.closes().await);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(1 << 30).unwrap();
    let server =
        serve(Settings { limits: Some(hasty()), images_dir: Some(folder.path().into()), ..Settings::default() });
    let mut client = Client::connect(&server).await;
    client.send(b"GET /images/large HTTP/1.1\r\n\r\n").await;
    let ended = async {
        loop {
            let told = server.directory.told.lock().unwrap().first().cloned();
            match told {
                Some(exchange) => return exchange,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let exchange = tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap();
    assert_eq!(exchange.answer, Answer::Failed);
    assert!(exchange.why.unwrap().ends_with(": timed out"));
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_others_still_come_in() {
    let limits = HttpLimits { connections_each: 3, ..HttpLimits::default() };
    let server = serve(Settings { limits: Some(limits), ..Settings::default() });
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&server).await;
        assert_eq!(client.get("/ipxe.efi").await.status, 200);
        held.push(client);
    }
    assert!(Client::connect(&server).await.closes().await);
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let stream = other.connect(server.at).await.unwrap();
    let mut other = Client { stream, unread: Vec::new() };
    assert_eq!(other.get("/ipxe.efi").await.status, 200);
    // One that ends makes room.
    assert_eq!(held[0].ask("GET", "/ipxe.efi", "Connection: close\r\n").await.status, 200);
    assert!(held.remove(0).closes().await);
    let served = async {
        loop {
            let mut client = Client::connect(&server).await;
            client.send(b"HEAD /ipxe.efi HTTP/1.1\r\n\r\n").await;
            if client.stream.read_buf(&mut client.unread).await.is_ok_and(|read| read > 0) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), served).await.unwrap();
}

#[tokio::test]
async fn a_file_that_becomes_shorter_while_it_is_sent_ends_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(256 << 20).unwrap();
    let server = serve(Settings { images_dir: Some(folder.path().into()), ..Settings::default() });
    let mut client = Client::connect(&server).await;
    client.send(b"GET /images/image HTTP/1.1\r\n\r\n").await;
    client.stream.readable().await.unwrap();
    file.set_len(1 << 20).unwrap();
    let mut all = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), client.stream.read_to_end(&mut all)).await.unwrap();
    assert!(all.len() < 256 << 20, "{}", all.len());
}

/// ipxe#1023: a card that stalls when much arrives at once is sent little at once.
#[tokio::test]
async fn no_more_is_on_its_way_than_a_card_can_take() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("large")).unwrap().set_len(64 << 20).unwrap();
    let mut taken = Vec::new();
    for in_flight in [Some(16 * 1024), None] {
        let limits = HttpLimits { in_flight, stall: Duration::from_millis(500), ..HttpLimits::default() };
        let images_dir = Some(folder.path().into());
        let server = serve(Settings { limits: Some(limits), images_dir, ..Settings::default() });
        let small = tokio::net::TcpSocket::new_v4().unwrap();
        small.set_recv_buffer_size(16 * 1024).unwrap();
        let mut client = Client { stream: small.connect(server.at).await.unwrap(), unread: Vec::new() };
        client.send(b"GET /images/large HTTP/1.1\r\n\r\n").await;
        // Nothing is read: what the server could send lies in the two sockets.
        let failed = async {
            while server.directory.told.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), failed).await.unwrap();
        let why = server.directory.told.lock().unwrap()[0].why.clone().unwrap();
        let sent: u64 = why.split(' ').nth(1).unwrap().parse().unwrap();
        taken.push(sent);
    }
    assert!(taken[0] < 256 * 1024 && taken[1] > taken[0] * 2, "{taken:?}");
}
