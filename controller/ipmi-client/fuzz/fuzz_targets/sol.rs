//! The console's end of a serial line against a controller that sends anything, while somebody types.
#![no_main]

use ipmi_client::sol::Link;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut link = Link::new(20);
    let mut rest = data;
    while let Some((first, behind)) = rest.split_first() {
        let (payload, behind) = behind.split_at(usize::from(first & 0x1f).min(behind.len()));
        rest = behind;
        match first >> 5 {
            0 => {
                let before = link.room();
                assert_eq!(link.type_in(payload), payload.len().min(before));
            }
            1 => link.send_break(),
            2 => link.resume(),
            3 => drop(link.repeat()),
            room => {
                let room = usize::from(room);
                if let Ok(incoming) = link.receive(payload, room) {
                    assert!(incoming.data.len() <= room && incoming.data.len() + 4 <= payload.len().max(4));
                }
            }
        }
        while let Some(sent) = link.transmit() {
            assert!(sent.len() <= 20);
        }
    }
});
