"""Has cloud-init's own renderers write each network data of /in to /out/NAME/RENDERER; what cannot be rendered leaves its reason beside."""

import copy
import os

import yaml
from cloudinit.net import netplan, network_manager, network_state, networkd
from cloudinit.sources.helpers import openstack

MACS = {f"52:54:00:00:00:0{number}": f"eth{number}" for number in range(8)}

for name in sorted(os.listdir("/in")):
    with open(f"/in/{name}", encoding="utf-8") as file:
        data = yaml.safe_load(file)
    if name.startswith("openstack"):
        data = openstack.convert_net_json(data, known_macs=MACS)
    data = data.get("network", data)
    for kind, module in (("netplan", netplan), ("networkmanager", network_manager), ("networkd", networkd)):
        target = f"/out/{name}/{kind}"
        os.makedirs(target)
        try:
            state = network_state.parse_net_config_data(copy.deepcopy(data))
            module.Renderer({"features": [], "postcmds": False} if kind == "netplan" else {}).render_network_state(
                state, target=target
            )
        except Exception as error:  # pylint: disable=broad-except
            with open(f"/out/{name}/{kind}.error", "w", encoding="utf-8") as file:
                file.write(repr(error))
