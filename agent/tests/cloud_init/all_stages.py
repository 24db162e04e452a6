"""cloud-init's stages after the network is up, one after the other in one Python: most of what they cost is its start."""

import sys

from cloudinit.cmd import main

for words in (["init"], ["modules", "--mode", "config"], ["modules", "--mode", "final"]):
    sys.argv = ["cloud-init", *words]
    main.main()
