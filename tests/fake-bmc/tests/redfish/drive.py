"""Ironic's client, sushy, does to the fake BMC what ironic does to a server, and prints what it sees."""
import sys
import time

import sushy
from sushy import auth

url, authority = sys.argv[1:3]
root = sushy.Sushy(url, auth=auth.SessionAuth("admin", "password"), verify=authority)
system = root.get_system()
print("power", system.power_state.value)
system.reset_system(sushy.ResetType.ON)
system.refresh()
print("power", system.power_state.value)
once, uefi = sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideMode.UEFI
system.set_system_boot_options(sushy.BootSource.PXE, enabled=once, mode=uefi)
system.refresh()
print("boot", system.boot.target.value, system.boot.enabled.value, system.boot.mode.value)
slots = system.virtual_media.get_members()
cd = next(slot for slot in slots if sushy.VirtualMediaType.CD in slot.media_types)
cd.insert_media("http://192.0.2.1/boot.iso")
cd.refresh()
print("media", cd.image, cd.inserted)
cd.eject_media()
cd.refresh()
print("media", cd.image, cd.inserted)
system.bios.set_attribute("SriovGlobalEnable", "Enabled", apply_time=sushy.ApplyTime.ON_RESET)
system.bios.refresh()
print("pending", dict(system.bios.pending_attributes))
system.secure_boot.set_enabled(True)
system.reset_system(sushy.ResetType.FORCE_RESTART)
system.bios.refresh(force=True)
system.secure_boot.refresh(force=True)
print("bios", system.bios.attributes["SriovGlobalEnable"], "secure boot", system.secure_boot.current_boot.value)
print("macs", *sorted(system.ethernet_interfaces.summary))
update = root.get_update_service()
task = update.simple_update("http://192.0.2.1/bios-2.12.0.bin")
while task.check_is_processing:
    time.sleep(0.05)
print("firmware", *[item.version for item in update.firmware_inventory.get_members()])
