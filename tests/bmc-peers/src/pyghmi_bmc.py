# An IPMI 2.0 BMC of pyghmi's server classes in front of a power switch over HTTP.
# Arguments: URL of the switch, UDP port, user, password.
import sys
import urllib.request

import pyghmi.ipmi.bmc


class Bmc(pyghmi.ipmi.bmc.Bmc):
    def __init__(self, switch, users, port):
        self.switch = switch
        super().__init__(users, port=port, address='127.0.0.1')

    def ask(self, path, method='GET'):
        request = urllib.request.Request(self.switch + '/chassis/' + path, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    def get_power_state(self):
        return 'on' if self.ask('power') == '1' else 'off'

    def power_on(self):
        self.ask('power/1', 'POST')

    def power_off(self):
        self.ask('power/0', 'POST')

    def power_reset(self):
        self.ask('reset/1', 'POST')

    def power_cycle(self):
        self.power_off()
        self.power_on()

    def power_shutdown(self):
        self.ask('shutdown/1', 'POST')

    def get_boot_device(self):
        return {'pxe': 'network', 'cdrom': 'optical'}.get(self.ask('boot'), 'hd')

    def set_boot_device(self, device):
        self.ask('boot/' + device, 'POST')


switch, port, user, password = sys.argv[1:]
bmc = Bmc(switch, {user: password}, int(port))
print('ready', flush=True)
bmc.listen()
