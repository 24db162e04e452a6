//! A DHCPv4 message after an octet that says how it is heard, through a whole server without sockets. One bit repairs
//! what a message needs to be looked at, so that the options are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut data = data.to_vec();
    if let Some([how, message @ ..]) = data.get_mut(..241)
        && *how & 8 != 0
    {
        message[..3].copy_from_slice(&[1, 1, 6]);
        message[28] &= 0xfe;
        message[236..].copy_from_slice(&[99, 130, 83, 99]);
    }
    bessemer_pxe::fuzz_dhcp(&data);
});
