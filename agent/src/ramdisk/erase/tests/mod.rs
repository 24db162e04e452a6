//! Real file systems, volumes and tables by their own tools, with `wipefs` and `blkid` as judges; and made-up disks for the commands that no
//! emulator has.

mod full;
mod metadata;
mod seeds;
mod subsystems;
