//! The least that firmware can boot: one sector of real-mode code that prints a line on the first serial port and
//! halts, and the same on a CD.

/// A CD's sector.
const CD_SECTOR: usize = 2048;

/// Where things are on the CD, in its sectors: after the sixteen that no system uses come the volume's descriptors.
const CATALOGUE_AT: u32 = 19;
const ROOT_AT: u32 = 20;
const PROGRAM_AT: u32 = 21;

/// The program, without padding. `word` is at most 40 letters. It runs wherever it is loaded to: by a BIOS at
/// 0000:7C00 or 07C0:0000, by a PXE client at 0000:7C00.
#[must_use]
pub fn boot_program(word: &str) -> Vec<u8> {
    let text = format!("BOOTED {word}\r\n\0");
    let mut code = vec![
        0xfa, // cli
        0xe8, 0x00, 0x00, // call the next instruction: its address is on the stack now
        0x5e, // pop si
        0x83, 0xc6, 0x00, // add si, distance to the text (below)
        0x0e, 0x1f, // push cs; pop ds
        0xfc, // cld
        0xac, // next: lodsb
        0x84, 0xc0, // test al, al
        0x74, 0x12, // jz done
        0x88, 0xc4, // mov ah, al
        0xba, 0xfd, 0x03, // mov dx, COM1's line status
        0xec, // wait: in al, dx
        0xa8, 0x20, // test al, transmitter is empty
        0x74, 0xfb, // jz wait
        0xba, 0xf8, 0x03, // mov dx, COM1's data
        0x88, 0xe0, // mov al, ah
        0xee, // out dx, al
        0xeb, 0xe9, // jmp next
        0xf4, // done: hlt
        0xeb, 0xfd, // jmp done
    ];
    // from the instruction after the call
    let distance = code.len() - 4;
    if let (Some(place), Ok(distance)) = (code.get_mut(7), u8::try_from(distance)) {
        *place = distance;
    }
    code.extend(text.into_bytes());
    code
}

/// The program as the first sector of a disk, which a BIOS knows by its last two bytes.
#[must_use]
pub fn boot_image(word: &str) -> Vec<u8> {
    let mut sector = boot_program(word);
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    sector
}

/// A disk of one MiB with it.
#[must_use]
pub fn disk_image(word: &str) -> Vec<u8> {
    let mut disk = boot_image(word);
    disk.resize(1 << 20, 0);
    disk
}

/// A bootable CD with it (ECMA-119, and El Torito 1.0 without emulation), and no files.
#[must_use]
pub fn cd_image(word: &str) -> Vec<u8> {
    let mut cd = vec![0; 16 * CD_SECTOR];
    let sectors = PROGRAM_AT + 1;
    for sector in [primary(sectors), boot_record(), terminator(), catalogue(), root(), boot_image(word)] {
        let mut sector = sector;
        sector.resize(CD_SECTOR, 0);
        cd.extend(sector);
    }
    cd
}

/// A number in both orders of bytes, as the standard has them.
fn both32(number: u32) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

fn both16(number: u16) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

/// The root folder's record of itself (`0`) or its parent (`1`).
fn record(name: u8) -> Vec<u8> {
    [vec![34, 0], both32(ROOT_AT), both32(2048), vec![0; 7], vec![2, 0, 0], both16(1), vec![1, name]].concat()
}

fn root() -> Vec<u8> {
    [record(0), record(1)].concat()
}

fn primary(sectors: u32) -> Vec<u8> {
    let blanks = |count| vec![b' '; count];
    let before_root = [
        b"\x01CD001\x01\0".to_vec(),
        blanks(64),
        vec![0; 8],
        both32(sectors),
        vec![0; 32],
        both16(1),
        both16(1),
        both16(2048),
        vec![0; 24],
    ];
    let mut descriptor = before_root.concat();
    descriptor.extend(record(0));
    descriptor.extend(blanks(623));
    descriptor.resize(881, 0);
    descriptor.push(1);
    descriptor
}

fn boot_record() -> Vec<u8> {
    let mut descriptor = b"\0CD001\x01EL TORITO SPECIFICATION".to_vec();
    descriptor.resize(71, 0);
    descriptor.extend(CATALOGUE_AT.to_le_bytes());
    descriptor
}

fn terminator() -> Vec<u8> {
    b"\xffCD001\x01".to_vec()
}

/// A validation entry, whose 16-bit words add up to nothing, and one program of one 512-byte sector.
fn catalogue() -> Vec<u8> {
    let mut catalogue = vec![1];
    catalogue.resize(28, 0);
    let (key, validation) = (0xaa55_u16, 1_u16);
    catalogue.extend(0_u16.wrapping_sub(key).wrapping_sub(validation).to_le_bytes());
    catalogue.extend(key.to_le_bytes());
    catalogue.extend([0x88, 0, 0, 0, 0, 0, 1, 0]);
    catalogue.extend(PROGRAM_AT.to_le_bytes());
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_sector_is_one_sector_with_its_mark() {
        let sector = boot_image("disk");
        assert_eq!((sector.len(), &sector[510..]), (512, &[0x55, 0xaa][..]));
        // the distance leads to the text
        assert_eq!(sector[4 + usize::from(sector[7])..][..6], *b"BOOTED");
    }

    #[test]
    fn a_cd_has_its_program_where_the_catalogue_says() {
        let cd = cd_image("cd");
        assert_eq!(cd.len(), 22 * CD_SECTOR);
        let entry = &cd[19 * CD_SECTOR + 32..];
        let at = u32::from_le_bytes(entry[8..12].try_into().unwrap()) as usize;
        assert_eq!(cd[at * CD_SECTOR..][..512], boot_image("cd"));
        let words = cd[19 * CD_SECTOR..][..32].chunks(2).map(|word| u16::from_le_bytes([word[0], word[1]]));
        assert_eq!(words.fold(0_u16, u16::wrapping_add), 0);
    }
}
