# Reads power states with sushy, each from log in to log out, and prints sushy's version and the seconds it took.
# Arguments: user, password, threads, ports.
import concurrent.futures
import importlib.metadata
import sys
import time
import warnings

import sushy
import sushy.auth

warnings.filterwarnings('ignore')
user, password, threads, *ports = sys.argv[1:]


def read(port):
    auth = sushy.auth.SessionAuth(user, password)
    root = sushy.Sushy('https://127.0.0.1:' + port, auth=auth, verify=False)
    state = root.get_system().power_state
    auth.close()
    return state


begun = time.monotonic()
with concurrent.futures.ThreadPoolExecutor(int(threads)) as pool:
    states = list(pool.map(read, ports))
assert len(states) == len(ports)
print(importlib.metadata.version('sushy'), time.monotonic() - begun)
