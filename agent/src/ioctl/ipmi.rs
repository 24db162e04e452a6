//! Messages to the machine's own management controller through the kernel's driver.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};

/// `struct ipmi_system_interface_addr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Address {
    kind: i32,
    channel: i16,
    lun: u8,
}

/// `struct ipmi_msg`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Message {
    netfn: u8,
    command: u8,
    length: u16,
    data: u64,
}

/// `struct ipmi_req`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Request {
    address: u64,
    address_length: u32,
    id: i64,
    message: Message,
}

/// `struct ipmi_recv`.
#[repr(C)]
#[derive(Debug, Default)]
struct Received {
    kind: i32,
    address: u64,
    address_length: u32,
    id: i64,
    message: Message,
}

/// `IPMICTL_SEND_COMMAND` of `<linux/ipmi.h>`: a pointer to a request, which is only read, whatever the number says.
const SEND: Opcode = opcode::read::<Request>(b'i', 13);
/// `IPMICTL_RECEIVE_MSG_TRUNC`: a pointer to the other, which is read and written.
const RECEIVE: Opcode = opcode::read_write::<Received>(b'i', 11);

/// `IPMI_SYSTEM_INTERFACE_ADDR_TYPE` and `IPMI_BMC_CHANNEL`.
const SYSTEM_INTERFACE: Address = Address { kind: 0x0c, channel: 0x0f, lun: 0 };

/// Sends a command and returns the answer, whose first byte is the completion code. `device` is `/dev/ipmi0`.
pub(crate) fn ipmi(device: impl AsFd, netfn: u8, command: u8, data: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
    let address = SYSTEM_INTERFACE;
    let length = u16::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let request = Request {
        address: (&raw const address) as u64,
        address_length: u32::try_from(size_of::<Address>()).unwrap_or(0),
        id: i64::from(command),
        message: Message { netfn, command, length, data: data.as_ptr() as u64 },
    };
    // SAFETY: IPMICTL_SEND_COMMAND reads a `struct ipmi_req`, of which `Request` is the C layout, the address and the data that it points
    // to, whose lengths it states. All live until the call returns, and the kernel copies them.
    unsafe { ioctl(&device, Setter::<SEND, Request>::new(request)) }?;
    let timeout = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    if poll(&mut [PollFd::new(&device, PollFlags::IN)], Some(&timeout))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut from = [0_u8; 64];
    let mut answer = vec![0_u8; 272];
    let mut received = Received {
        address: from.as_mut_ptr() as u64,
        address_length: 64,
        message: Message { length: 272, data: answer.as_mut_ptr() as u64, ..Message::default() },
        ..Received::default()
    };
    // SAFETY: IPMICTL_RECEIVE_MSG_TRUNC takes a `struct ipmi_recv`, of which `Received` is the C layout, and writes at most as much as it
    // states to the two buffers that it points to. All live until the call returns.
    unsafe { ioctl(&device, Updater::<RECEIVE, Received>::new(&mut received)) }?;
    answer.truncate(usize::from(received.message.length));
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!((SEND, RECEIVE, size_of::<Address>()), (0x8028_690d, 0xc030_690b, 8));
    }
}
